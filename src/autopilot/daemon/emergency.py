"""Everything of ours on this machine ended at once: the daemon, every run and every publication.

Must not ask the daemon or the database, which may be what is broken; must not end a process that cannot be
proven ours: the daemon by what it signed its lock with, all others by the mark that they carry.
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config import proc, procinfo
from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.paths import PUBLISH_FOLDER, SPEC_FILE
from autopilot.daemon.lock import owner
from autopilot.daemon.processes import NOBODY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths

_MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Killed:
    """One tree that was ended."""

    name: str
    """`daemon`, or the run's or publication's id."""
    processes: int


def stop_all(paths: Paths, clock: Clock) -> list[Killed]:
    """End every tree of this state folder; the daemon is held still first, so that it starts nothing.

    Raises:
        OSError: we have no descriptor or memory left to look with.
    """
    daemon = owner(paths.daemon_lock)
    if daemon is not None and daemon.pid == os.getpid():
        daemon = None  # our own: something that we did before held the lock, as `restore` does
    if daemon is not None:
        with suppress(ProcessLookupError):
            os.kill(daemon.pid, signal.SIGSTOP)
    killed = []
    known = set(_marks(paths))
    while fresh := [each for mark in sorted(_alive(known)) if (each := _kill(mark, NOBODY, clock)).processes]:
        killed += fresh  # again, until a look finds nobody whom we may end
    if daemon is not None:
        killed.append(_kill("daemon", daemon, clock))
    return killed


def living(paths: Paths) -> tuple[str, ...]:
    """Name the runs and publications of this state folder of which a process lives.

    Raises:
        OSError: we have no descriptor or memory left to look with.
    """
    return tuple(sorted(_alive(set(_marks(paths)))))


def _kill(name: str, root: proc.ProcessId, clock: Clock) -> Killed:
    marker = None if root != NOBODY else name
    return Killed(name, proc.kill_tree(root, grace_s=0.0, clock=clock, marker=marker))


def _alive(known: set[str]) -> set[str]:
    """Give the marks that living processes carry."""
    found: set[str] = set()
    for pid in procinfo.all_pids() - {os.getpid()}:
        seen = procinfo.look(pid)
        if seen is not None and not seen.is_zombie:
            found |= known & (procinfo.marks_of(pid) or frozenset())
    return found


def _marks(paths: Paths) -> Iterator[str]:
    """Give the mark of each run and publication that there ever was here."""
    for folder in paths.runs.iterdir() if paths.runs.is_dir() else ():
        yield folder.name
        if publication := _publication(folder / PUBLISH_FOLDER / SPEC_FILE):
            yield publication


def _publication(spec: Path) -> str:
    try:
        found = json.loads(read_plain(spec, max_bytes=_MAX_BYTES))
    except (UnreadableError, ValueError, RecursionError):
        return ""
    return str(found.get("id", "")) if isinstance(found, dict) else ""
