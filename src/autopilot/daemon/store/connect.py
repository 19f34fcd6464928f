"""Opens engines on the SQLite file: one for reading, one for writing.

Must not know tables. Every transaction starts with an explicit BEGIN, because Python's driver sends none
before a SELECT, and a read that is followed by a write would then not be one transaction.
Source: SQLAlchemy's pysqlite page, "Serializable isolation"; https://www.sqlite.org/lang_transaction.html
"""

from __future__ import annotations

import sqlite3
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import URL, create_engine, event
from sqlalchemy.pool import NullPool, QueuePool

from autopilot.daemon.store.lines import Lines
from autopilot.daemon.store.patience import Patience

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sqlalchemy import Connection, Engine

    from autopilot.daemon.store.lines import Begin

Role = Literal["daemon", "cli"]

BUSY_MS = 5000
"""How long SQLite itself waits for a lock before it says busy."""
_READERS = 15
_ASK_AGAIN_MS = 0.5
_CHECKPOINT_PAGES = 1000


def reader(database: Path) -> Lines:
    """Open for reading; a transaction is one snapshot, and a write is an error."""
    engine = create_engine(
        _url(database), poolclass=QueuePool, pool_size=_READERS, max_overflow=0, pool_timeout=0
    )
    return Lines(
        _prepared(engine, begin=_begin_reading, pragmas={"query_only": 1}), _begin_reading, most=_READERS
    )


def writer(database: Path, role: Role, busy_ms: int = BUSY_MS, *, patience: Patience | None = None) -> Lines:
    """Open for writing, one connection: threads queue for it here and not in SQLite's blind waiting.

    Only the daemon's connection checkpoints the write-ahead log: SQLite before 3.51.3 can lose a commit when
    two processes do it at the same moment. Source: https://www.sqlite.org/wal.html, "The WAL-reset bug".
    """
    patience = patience or Patience()
    engine = create_engine(_url(database), poolclass=QueuePool, pool_size=1, max_overflow=0, pool_timeout=0)
    if role == "daemon":
        pragmas = {"wal_autocheckpoint": _CHECKPOINT_PAGES, "busy_timeout": 0}  # it waits by itself
        begin: Begin = partial(_begin_first, busy_ms=busy_ms, patience=patience)
    else:
        pragmas, begin = {"wal_autocheckpoint": 0, "busy_timeout": busy_ms}, _begin_in_turn
    return Lines(_prepared(engine, begin=begin, pragmas=pragmas), begin, most=1, patience=patience)


def migrator(database: Path) -> Engine:
    """Open for a change of schema: foreign keys are off, for a table may be rebuilt under them."""
    engine = create_engine(_url(database), poolclass=NullPool)
    return _prepared(engine, begin=_begin_in_turn, pragmas={"foreign_keys": 0, "wal_autocheckpoint": 0})


def _url(database: Path) -> URL:
    return URL.create("sqlite+pysqlite", database=str(database))


def _prepared(engine: Engine, *, begin: Begin, pragmas: Mapping[str, int]) -> Engine:
    settings = {"busy_timeout": BUSY_MS, "foreign_keys": 1, **pragmas}

    def on_connect(raw: sqlite3.Connection, _record: object) -> None:
        raw.isolation_level = None  # the driver must not begin or commit by itself
        for name, value in settings.items():
            raw.execute(f"PRAGMA {name}={value}")
        raw.execute("PRAGMA synchronous=FULL")  # a commit survives a power cut: queue and ledger
        raw.execute("PRAGMA fullfsync=1")  # macOS alone: through the drive's cache too

    def on_begin(conn: Connection) -> None:
        raw: Any = conn.connection.dbapi_connection
        if not raw.in_transaction:
            begin(raw)

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", on_begin)
    return engine


def _begin_reading(raw: sqlite3.Connection) -> None:
    raw.execute("BEGIN")


def _begin_in_turn(raw: sqlite3.Connection) -> None:
    """Wait as SQLite does: asleep for longer and longer, up to 100 ms; whoever wakes first gets the lock."""
    raw.execute("BEGIN IMMEDIATE")


def _begin_first(raw: sqlite3.Connection, busy_ms: int, patience: Patience) -> None:
    """Ask for the write lock so often that no crowd of other writers can keep the daemon waiting.

    While sixteen processes wrote without a pause, SQLite's waiting gave the daemon its turn after up to 15 s.
    Source: sqlite3.c, `sqliteDefaultBusyCallback`: delays of 1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100 ms.
    """
    for _ in range(round(busy_ms / _ASK_AGAIN_MS)):
        if _has_begun(raw):
            return
        if not patience.left_s:
            break
        Event().wait(_ASK_AGAIN_MS / 1000)
    raw.execute("BEGIN IMMEDIATE")


def _has_begun(raw: sqlite3.Connection) -> bool:
    try:
        raw.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as exc:
        if exc.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True
