"""The real store on a real file, with a boundary before and after each transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, event
from sqlalchemy.util import LRUCache

from autopilot.config.entropy import Entropy
from autopilot.daemon.store.engine import Store, open_store
from autopilot.schemas.errors import ConfigError, TransientError

if TYPE_CHECKING:
    from tests.simulation.world import World

T = TypeVar("T")
_FAULTS = (
    ("database-busy", 8), ("database-full", 1), ("database-unwritable", 1),
)  # fmt: skip


@dataclass(frozen=True)
class TornStore(Store):
    """The daemon's store: at each transaction it may die, be refused, or be overtaken by somebody else."""

    world: World = field(kw_only=True)

    def transact(self, work: Callable[[Connection], T]) -> T:
        world = self.world
        world.boundary("transaction")
        _fail(world, 0.01)
        value = Store.transact(self, work)
        world.invariants.look()
        world.boundary("committed")
        return value

    def read(self) -> AbstractContextManager[Connection]:
        self.world.only_alive()
        _fail(self.world, 0.001)
        return Store.read(self)


@dataclass(frozen=True)
class WatchedStore(Store):
    """Somebody else's store: between their look and their write the daemon, or another person, may act."""

    world: World = field(kw_only=True)

    def transact(self, work: Callable[[Connection], T]) -> T:
        self.world.overtake()
        value = Store.transact(self, work)
        self.world.invariants.look()
        return value


class Vault:
    """One database file for many seeds: opened as the daemon opens it, brought back to empty in between.

    Its connections stay open from seed to seed, for SQLite compiles each statement anew on each of them: a
    twelfth of a seed. What is brought back is every row, the size of the file, and the log.
    """

    def __init__(self, database: Path, clock: Any) -> None:
        self._database = database
        self._compiled: Any = LRUCache(1000)
        self._dialect: Any = None
        self._store = self._opened(clock)
        self.observer = sqlite3.connect(database, isolation_level=None)
        """What looks on during a seed, and empties the file after it; nobody writes through it meanwhile."""
        self.observer.row_factory = sqlite3.Row
        _hurry(self.observer, None)
        tables = self.observer.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        self._empty = {name: self._rows(name) for (name,) in tables}
        self._cut_log()
        self._size_bytes = database.stat().st_size

    def reset(self) -> None:
        """Make the queue empty, as it was when it was made; whoever still reads or writes is told.

        Raises:
            sqlite3.OperationalError: somebody still writes.
        """
        raw = self.observer
        raw.execute("BEGIN IMMEDIATE")
        for name, rows in self._empty.items():
            raw.execute(f"DELETE FROM {name}")  # noqa: S608 - a name of our own schema
            for row in rows:
                raw.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608
        raw.execute("COMMIT")
        while raw.execute("PRAGMA freelist_count").fetchone()[0]:
            raw.execute("PRAGMA incremental_vacuum(1)")
        self._cut_log()
        assert self._database.stat().st_size == self._size_bytes, "an empty queue has the pages it began with"

    def fields(self, clock: Any, entropy: Entropy) -> dict[str, Any]:
        """Give the fields of the open store, for one world."""
        store = {each.name: getattr(self._store, each.name) for each in fields(self._store)}
        return store | {"clock": clock, "entropy": entropy}

    def reopen(self, clock: Any) -> None:
        """The process that had it open is gone, and another opens it."""
        self._store.close()
        self._store = self._opened(clock)

    def close(self) -> None:
        """It is used no more."""
        self.observer.close()
        self._store.close()

    def _opened(self, clock: Any) -> Store:
        """Open it; a virtual disk loses nothing, so it need not be flushed."""
        store = open_store(self._database, clock, role="daemon")
        for lines in (store._writer, store._reader):  # noqa: SLF001 - a door only for us would be worse
            engine = lines.engine
            event.listen(engine, "connect", _hurry)
            # What was compiled is kept under its dialect: one for all engines, or each compiles anew.
            engine.dialect = self._dialect = self._dialect or engine.dialect
            engine._compiled_cache = self._compiled  # noqa: SLF001 - as above
            for conn in lines._free:  # noqa: SLF001 - as above: what the check has opened is used on
                conn.dialect = engine.dialect
                _hurry(conn.connection.driver_connection, None)
        return store

    def _rows(self, name: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.observer.execute(f"SELECT * FROM {name}")]  # noqa: S608 - as above

    def _cut_log(self) -> None:
        (is_busy, *_) = self.observer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert not is_busy, "somebody still reads"


def _hurry(raw: Any, _record: object) -> None:
    raw.execute("PRAGMA synchronous=OFF")


def _fail(world: World, probability: float) -> None:
    if not world.is_fault(probability):
        return
    code = world.chance.weighted(_FAULTS)
    world.note(f"store: {code}")
    if code == "database-unwritable":
        raise ConfigError(code, "the disk is read-only")
    raise TransientError(code, "the disk is full, or somebody writes")
