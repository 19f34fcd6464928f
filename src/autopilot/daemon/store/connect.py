"""Opens engines on the SQLite file: one for reading, one for writing.

Must not know tables. Every transaction starts with an explicit BEGIN, because Python's driver sends none
before a SELECT, and a read that is followed by a write would then not be one transaction.
Source: SQLAlchemy's pysqlite page, "Serializable isolation"; https://www.sqlite.org/lang_transaction.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from sqlalchemy import URL, create_engine, event
from sqlalchemy.pool import NullPool, QueuePool

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping
    from pathlib import Path

    from sqlalchemy import Connection, Engine

Role = Literal["daemon", "cli"]

BUSY_MS = 5000
"""How long SQLite itself waits for a lock before it says busy."""
_POOL_WAIT_S = 30
_CHECKPOINT_PAGES = 1000


def reader(database: Path) -> Engine:
    """Open for reading; a transaction is one snapshot, and a write is an error."""
    engine = create_engine(_url(database), poolclass=QueuePool, pool_timeout=_POOL_WAIT_S)
    return _prepared(engine, begin="BEGIN", pragmas={"query_only": 1})


def writer(database: Path, role: Role, busy_ms: int = BUSY_MS) -> Engine:
    """Open for writing, one connection: threads queue for it here and not in SQLite's blind waiting.

    Only the daemon's connection checkpoints the write-ahead log: SQLite before 3.51.3 can lose a commit when
    two processes do it at the same moment. Source: https://www.sqlite.org/wal.html, "The WAL-reset bug".
    """
    engine = create_engine(
        _url(database), poolclass=QueuePool, pool_size=1, max_overflow=0, pool_timeout=_POOL_WAIT_S
    )
    pages = _CHECKPOINT_PAGES if role == "daemon" else 0
    return _prepared(
        engine, begin="BEGIN IMMEDIATE", pragmas={"wal_autocheckpoint": pages, "busy_timeout": busy_ms}
    )


def migrator(database: Path) -> Engine:
    """Open for a change of schema: foreign keys are off, for a table may be rebuilt under them."""
    engine = create_engine(_url(database), poolclass=NullPool)
    return _prepared(engine, begin="BEGIN IMMEDIATE", pragmas={"foreign_keys": 0, "wal_autocheckpoint": 0})


def _url(database: Path) -> URL:
    return URL.create("sqlite+pysqlite", database=str(database))


def _prepared(engine: Engine, *, begin: str, pragmas: Mapping[str, int]) -> Engine:
    settings = {"busy_timeout": BUSY_MS, "foreign_keys": 1, **pragmas}

    def on_connect(raw: sqlite3.Connection, _record: object) -> None:
        raw.isolation_level = None  # the driver must not begin or commit by itself
        for name, value in settings.items():
            raw.execute(f"PRAGMA {name}={value}")
        raw.execute("PRAGMA synchronous=FULL")  # a commit survives a power cut: queue and ledger

    def on_begin(conn: Connection) -> None:
        conn.exec_driver_sql(begin)

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", on_begin)
    return engine
