"""Keeps up the leases of what an earlier daemon left running, until this one looks after it.

Reading or changing a large queue takes longer than a child waits. Must not judge, and must not open the
database, which may just be changed or found damaged: what has no result yet may be alive.
Source: docs/decisions/0056.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from autopilot.config.lease import renew
from autopilot.config.logs import logger
from autopilot.config.paths import LEASE_FILE, RESULT_FILE
from autopilot.config.threads import begin
from autopilot.daemon.pulse import PULSE_S
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from autopilot.config.paths import Paths


@contextmanager
def leases_kept_up(paths: Paths) -> Iterator[Callable[[], None]]:
    """Renew once a second, in a thread of its own; give what ends that.

    Not in the first second: a daemon that fails at once, and is started again and again, keeps nothing alive.
    """
    ended = threading.Event()
    thread = threading.Thread(target=_follow, args=(paths, ended), name="interim", daemon=True)
    try:
        begin(thread)
    except (RuntimeError, MemoryError) as error:  # no thread: they wait for as long as their leases last
        logger("daemon").warning(Event.LEASE_POSTPONED, file=str(paths.runs), error=str(error))
        ended.set()

    def end() -> None:
        ended.set()
        if thread.ident is not None:
            thread.join()

    try:
        yield end
    finally:
        end()


def unfinished(paths: Paths) -> tuple[Path, ...]:
    """Name the leases of runs and publications that have not told how they ended."""
    found: list[Path] = []
    for run_dir in paths.runs.iterdir():
        if not (run_dir / RESULT_FILE).exists():
            found.append(run_dir / LEASE_FILE)
        elif not paths.verdict(run_dir.name).exists():
            found.append(paths.publish_dir(run_dir.name) / LEASE_FILE)
    return tuple(lease for lease in found if lease.is_file())


def _follow(paths: Paths, ended: threading.Event) -> None:
    leases: tuple[Path, ...] | None = None
    while not ended.wait(PULSE_S):
        with suppress(OSError):
            leases = unfinished(paths) if leases is None else leases
        for lease in leases or ():
            with suppress(OSError):  # its folder is gone, or no descriptor is left: looked at again
                renew(lease)
