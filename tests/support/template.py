"""A new queue without Alembic's third of a second: the database is made once per process, and copied after.

Tests of making and migrating a database do not use it: they open the store themselves, in an empty folder.
"""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.daemon.store.engine import Store, open_store
from tests.support.clock import FakeClock

if TYPE_CHECKING:
    from autopilot.config.clock import Clock

_FILE_MODE = 0o600


def open_laid(database: Path, clock: Clock) -> Store:
    """Open a queue as the daemon does; a new one is laid there first."""
    lay(database)
    return open_store(database, clock, role="daemon")


def lay(database: Path) -> None:
    """Put the file of a new queue where there was never one; its lock, still without a word, tells that."""
    known = (database, *(database.with_name(database.name + suffix) for suffix in (".lock", "-wal")))
    if any(file.exists() for file in known):
        return
    new = pages()
    handle = os.open(database, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
    with os.fdopen(handle, "wb") as file:
        file.write(new)


@cache
def pages() -> bytes:
    """Give the file of a new queue."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "autopilot.db"
        open_store(database, FakeClock(), role="daemon").close()
        assert not database.with_name(database.name + "-wal").exists(), "its log is in the file"
        return database.read_bytes()
