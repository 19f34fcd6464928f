"""What the daemon found when it looked for itself, after it was turned on.

A service has another session than a terminal: another key ring, other variables, other proxies. What the
terminal finds in order may be out of its reach. Must not keep a night from beginning: it only tells.
"""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING

from pydantic import ValidationError

from autopilot.config.clock import SystemClock
from autopilot.config.foreign_file import UnreadableError
from autopilot.config.load import load
from autopilot.config.paths import find_paths
from autopilot.daemon import probing
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from autopilot.config.paths import Paths
    from autopilot.schemas.checkup import Check

_POLL_S = 0.1
_BEGINS_WITHIN_S = 5.0
"""A daemon that was on before looks when it is time again; until then its last look counts."""


def stamp() -> int:
    """Give a mark of the last look, before the switch turns; 0 where there is none."""
    return _stamp(find_paths())


def held(before: int, started_by: str, forced: AbstractSet[str]) -> tuple[Check, ...]:
    """Wait for the daemon's own look, and give what it holds a run for.

    Args:
        before: the mark of the last look before the switch turned.
        started_by: who started the daemon just now; one of this terminal has the terminal's surroundings.
        forced: names of the lines that a person overruled.
    """
    paths = find_paths()
    if started_by == "terminal" or not _looks(paths):
        return ()
    _wait(paths, before)
    try:
        checks = probing.read_look(paths).checks
    except (UnreadableError, ValidationError):
        return ()  # it has not looked in time: what it finds holds by itself, and status tells
    return tuple(line for line in checks if line.blocks and line.hold and line.name not in forced)


def _looks(paths: Paths) -> bool:
    try:
        return bool(load(paths).checkup.every_s)
    except ConfigError:
        return False


def _wait(paths: Paths, before: int) -> None:
    """Wait until a new look is there; where none begins, for a moment."""
    clock = SystemClock()
    begun_s = clock.monotonic_s()
    while clock.monotonic_s() - begun_s < probing.FIRST_ANSWER_S:
        now = _stamp(paths)
        if now not in {0, before}:
            return
        if now == before != 0 and clock.monotonic_s() - begun_s > _BEGINS_WITHIN_S:
            return
        Event().wait(_POLL_S)


def _stamp(paths: Paths) -> int:
    try:
        return probing.look_file(paths).stat().st_mtime_ns
    except OSError:
        return 0
