"""The store: the one way to the database.

`read()` is a snapshot, `transact()` a whole transaction that is tried again while the file is busy.
Must not know tickets: statements are in `queries_*`, `writes` and `moves`.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from autopilot.config.entropy import SystemEntropy
from autopilot.daemon.store import connect, health, migrate
from autopilot.daemon.store.damage import Translated, damaged, openable
from autopilot.daemon.store.patience import Patience
from autopilot.daemon.store.place import Place
from autopilot.schemas.errors import TransientError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import TracebackType

    from sqlalchemy import Connection

    from autopilot.config.clock import Clock
    from autopilot.config.entropy import Entropy
    from autopilot.daemon.store.connect import Role
    from autopilot.daemon.store.lines import Lines

T = TypeVar("T")

LARGE_BYTES = 64 * 1024 * 1024
"""Up to here the whole structure is read in well under a second."""

_TRIES = 6
"""Transactions tried on a lock that nobody passes on; each waits `connect.BUSY_MS` for it."""
_TRIES_IN_A_QUEUE = 60
"""The same while others do commit: then it is a queue, in which our turn comes."""


class _Session:
    """One transaction, for one block. A class: a tick has two dozen, and generators cost what SQLite does."""

    __slots__ = ("_conn", "_database", "_lines")

    def __init__(self, database: Path, lines: Lines) -> None:
        self._database = database
        self._lines = lines
        self._conn: Connection | None = None

    def __enter__(self) -> Connection:
        with Translated(self._database):
            self._conn = conn = self._lines.begin()
        return conn

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        conn, self._conn = self._conn, None
        if conn is None:
            return
        translated = Translated(self._database)
        with translated:
            if error is None:
                self._lines.commit(conn)
            else:
                self._lines.drop(conn)
        translated.__exit__(kind, error, trace)


@dataclass(frozen=True, slots=True)
class Store:
    """An open database. Safe for several threads; not for use after a fork."""

    database: Path
    clock: Clock
    role: Role
    _reader: Lines = field(repr=False)
    _writer: Lines = field(repr=False)
    _seat: int = field(repr=False)
    _place: Place | None = field(repr=False)
    entropy: Entropy = field(default=SystemEntropy(), repr=False)
    _patience: Patience = field(default_factory=Patience, repr=False)

    def read(self) -> AbstractContextManager[Connection]:
        """Give a connection that sees one moment and cannot write."""
        return _Session(self.database, self._reader)

    def write(self) -> AbstractContextManager[Connection]:
        """Give a connection that holds the write lock; commits at the end, rolls back on any error."""
        return _Session(self.database, self._writer)

    @contextmanager
    def patience(self, seconds: float) -> Iterator[None]:
        """Let this thread wait no longer than that for the database, over all it writes in the block."""
        with self._patience.of(seconds, self.clock):
            yield

    def transact(self, work: Callable[[Connection], T]) -> T:
        """Run `work` as one transaction, again from its start while the database is busy.

        Args:
            work: must have no effect but on the connection, for it may run more than once.

        Raises:
            TransientError: `database-busy`: nobody passed the lock on, or the queue for it is endless.
        """
        seen, since_commit = None, 0
        for _ in range(_TRIES_IN_A_QUEUE):
            try:
                with self.write() as conn:
                    return work(conn)
            except TransientError as exc:
                last = self._last_commit()
                since_commit = since_commit + 1 if last == seen else 1
                is_over = since_commit >= _TRIES or not self._patience.left_s
                if exc.code != "database-busy" or is_over:
                    raise
                seen = last
        with self.write() as conn:
            return work(conn)

    def _last_commit(self) -> tuple[int, int] | None:
        """Give what every commit of any process changes: the write-ahead log."""
        try:
            log = self.database.with_name(f"{self.database.name}-wal").stat()
        except OSError:
            return None
        return log.st_size, log.st_mtime_ns

    @property
    def owes_check(self) -> bool:
        """Tell whether the file is so large that its structure is read only after the first answer."""
        return self.database.stat().st_size > LARGE_BYTES

    def check_tickets(self) -> None:
        """Compare the unfinished tickets with their history.

        Raises:
            ConfigError: `database-damaged`.
        """
        with self.read() as conn:
            found = health.contradiction(conn)
        if found is not None:
            raise damaged(self.database, found)

    def check(self, *, is_asked_to_end: Callable[[], bool] = lambda: False) -> None:
        """Read the whole structure.

        Raises:
            ConfigError: `database-damaged`, with the first fault.
            TransientError: `check-given-up`: it was asked to end meanwhile.
        """
        with self.read() as conn, health.given_up_when(conn, is_asked_to_end):
            found = health.fault(conn)
        if found is not None:
            raise damaged(self.database, found)

    def log_bytes(self) -> int:
        """Give the size of the write-ahead log."""
        last = self._last_commit()
        return 0 if last is None else last[0]

    def checkpoint(self, *, cut: bool) -> bool:
        """Fold the write-ahead log into the database; the daemon's alone, and without waiting for anybody.

        Args:
            cut: also make the log's file empty, which no reader may be in the way of.

        Returns:
            Whether nothing was in the way.

        Source: https://www.sqlite.org/c3ref/wal_checkpoint_v2.html
        """
        how = "TRUNCATE" if cut else "PASSIVE"
        with Translated(self.database), self._writer.lent() as conn:
            raw = conn.connection.driver_connection
            if not isinstance(raw, sqlite3.Connection):
                return True
            (waits_ms,) = raw.execute("PRAGMA busy_timeout").fetchone()
            raw.execute("PRAGMA busy_timeout=0")
            try:
                (is_busy, *_) = raw.execute(f"PRAGMA wal_checkpoint({how})").fetchone()
            finally:
                raw.execute(f"PRAGMA busy_timeout={waits_ms}")
        return not is_busy

    def check_place(self) -> None:
        """Look whether the file is still there and still a database; cheap, and the daemon's alone.

        Raises:
            ConfigError: `database-missing`, `database-exchanged` or `database-damaged`.
        """
        if self._place is not None:
            self._place.check()

    def close(self) -> None:
        """Let the database go."""
        self._reader.close()
        self._writer.close()
        if self._place is not None:
            self._place.close()
        os.close(self._seat)


def open_store(database: Path, clock: Clock, *, role: Role = "cli", busy_ms: int = connect.BUSY_MS) -> Store:
    """Open the database; make it where there never was one, upgrade it where it is older.

    Args:
        database: the file; its folder must exist and be on a local disk.
        clock: what stamps rows and backups.
        role: the daemon is the only one to checkpoint, and checks at start: the tickets always, the whole
            structure where that takes no time (`owes_check`).
        busy_ms: how long one try for the write lock waits; there are six.

    Raises:
        ConfigError: `database-damaged`, `database-missing`, `database-newer`, `database-in-use`,
            `database-full` or `database-unwritable`. A queue that cannot be read is never taken for empty.
    """
    with Translated(database), openable(database):
        seat = migrate.take_seat(database, clock)
    patience = Patience()
    store = Store(
        database,
        clock,
        role,
        connect.reader(database),
        connect.writer(database, role, busy_ms, patience=patience),
        seat,
        Place.of(database) if role == "daemon" else None,
        _patience=patience,
    )
    with ExitStack() as undo:
        undo.callback(store.close)
        if role == "daemon":
            store.check_tickets()
            if not store.owes_check:
                store.check()
        undo.pop_all()
    return store
