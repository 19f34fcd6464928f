"""Writes the database anew without its free pages, so that a file of an older version can give room back.

Must not run beside a daemon or another command: it needs the file alone, and room for a second one.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from autopilot.daemon.lock import daemon_lock
from autopilot.daemon.statedir import check_file_system
from autopilot.daemon.store.damage import Translated
from autopilot.daemon.store.engine import open_store
from autopilot.daemon.store.migrate import sole_seat

if TYPE_CHECKING:
    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths


def compact(paths: Paths, clock: Clock) -> tuple[int, int]:
    """Compact the queue's file.

    Returns:
        Its size in bytes before and after.

    Raises:
        RefusedError: a daemon runs, or another process has the queue open.
        ConfigError: the database cannot be used, or there is no room.
    """
    check_file_system(paths.state)
    with daemon_lock(paths.daemon_lock):
        store = open_store(paths.database, clock)  # of our schema and whole, before it is written anew
        try:
            store.check()
        finally:
            store.close()
        before = paths.database.stat().st_size
        with (
            sole_seat(paths.database),
            Translated(paths.database),
            closing(sqlite3.connect(paths.database, isolation_level=None)) as raw,
        ):
            raw.execute("PRAGMA synchronous=FULL")
            raw.execute("PRAGMA auto_vacuum=INCREMENTAL")  # takes effect with the next statement
            raw.execute("VACUUM")
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return before, paths.database.stat().st_size
