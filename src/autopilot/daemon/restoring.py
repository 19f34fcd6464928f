"""Brings an older queue back on a person's word, and makes the state folder agree with it.

Must not run beside a daemon or another command, and must not delete anything.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from autopilot.config.paths import PUBLISH_FOLDER
from autopilot.daemon.lock import daemon_lock
from autopilot.daemon.store.restore import restore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.daemon.store.restore import Restored

_OF_A_TICKET = re.compile(r"^T-([1-9][0-9]{0,17})(?:-|$)")
_TO_BE_PUBLISHED = (
    "SELECT run_id FROM tickets WHERE state IN ('running', 'committed') AND run_id IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM publications WHERE publications.run_id = tickets.run_id)"
)


def restore_queue(paths: Paths, clock: Clock, *, source: Path | None = None) -> Restored:
    """Put a backup in the place of the queue; by default the newest good one.

    Raises:
        RefusedError: a daemon runs, another process has the queue open, or there is no such backup.
        ConfigError: the backup cannot be believed, or cannot be put in place.
    """
    with daemon_lock(paths.daemon_lock):
        restored = restore(paths.database, clock, source=source, numbers_used=_last_number(paths))
        if restored.set_aside is not None:
            _move_publish_folders(paths, restored.set_aside)
    return restored


def _last_number(paths: Paths) -> int:
    """Give the highest ticket number that left a folder behind."""
    return max((int(match[1]) for match in _named_after_tickets(paths)), default=0)


def _named_after_tickets(paths: Paths) -> Iterator[re.Match[str]]:
    for parent in (paths.worktrees, paths.runs):
        for entry in parent.iterdir() if parent.is_dir() else ():
            if match := _OF_A_TICKET.match(entry.name):
                yield match


def _move_publish_folders(paths: Paths, aside: Path) -> None:
    """Make room for publications that the restored queue does not know of.

    The publisher refuses a folder that was there before it was made; what it pushed, it finds at the remote.
    """
    with closing(sqlite3.connect(f"{paths.database.as_uri()}?mode=ro", uri=True)) as raw:
        runs = [str(row[0]) for row in raw.execute(_TO_BE_PUBLISHED)]
    for run in runs:
        folder = paths.run_dir(run) / PUBLISH_FOLDER
        if folder.exists():
            folder.rename(aside / f"{run}.{PUBLISH_FOLDER}")
