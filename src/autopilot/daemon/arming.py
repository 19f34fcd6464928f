"""How the switch was turned on last: which NO-GO lines a person overruled. Source: docs/decisions/0147.

A file beside the queue, written before the switch turns. Must not keep a night from beginning for want of an
old record: one that cannot be read overrules nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from autopilot.config.atomic import write_atomically
from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.room import unusable
from autopilot.schemas.checkup import Arming

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from autopilot.config.paths import Paths
    from autopilot.schemas.checkup import Check

_MAX_BYTES = 1024 * 1024


def record(paths: Paths, forced: Sequence[Check], *, by: str, now_ms: int) -> None:
    """Write down what was overruled; where nothing is, and nothing was, there is nothing to write.

    Raises:
        AutopilotError: it cannot be written.
    """
    file = _file(paths)
    if not forced and not file.exists():
        return
    arming = Arming(armed_ms=now_ms, by=by, forced=tuple(forced))
    try:
        write_atomically(file, arming.model_dump_json(indent=1).encode())
    except OSError as exc:
        what = f"cannot write {file}: {exc.strerror}"
        raise unusable("arming-unwritable", what, exc, hint="make its folder writable") from exc


def last(paths: Paths) -> Arming | None:
    """Give the last record; None where nothing was ever overruled, or it cannot be read."""
    try:
        return Arming.model_validate_json(read_plain(_file(paths), max_bytes=_MAX_BYTES))
    except (UnreadableError, ValidationError):
        return None


def forced(paths: Paths) -> tuple[Check, ...]:
    """Give the lines that the last turning on overruled."""
    found = last(paths)
    return () if found is None else found.forced


def _file(paths: Paths) -> Path:
    return paths.state / "arming.json"
