"""The real store on a real file, with a boundary before and after each transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
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
    """One database file for many seeds: opened as the daemon opens it, brought back to empty in between."""

    def __init__(self, database: Path, clock: Any) -> None:
        self._database = database
        self._clock = clock
        self._store: Store | None = None
        self._compiled: Any = LRUCache(1000)
        self._dialect: Any = None
        open_store(database, clock, role="daemon").close()
        with closing(sqlite3.connect(database)) as made:
            made.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._empty = database.read_bytes()

    def reset(self) -> None:
        """Make the queue empty: another file, with the pages of an empty one."""
        self.close()
        for suffix in ("", "-wal", "-shm"):
            self._database.with_name(self._database.name + suffix).unlink(missing_ok=True)
        self._database.write_bytes(self._empty)

    def open(self, clock: Any, entropy: Entropy) -> dict[str, Any]:
        """Give the fields of an open store; a virtual disk loses nothing, so it need not be flushed."""
        self.close()
        self._store = store = open_store(self._database, clock, role="daemon")
        for lines in (store._writer, store._reader):  # noqa: SLF001 - a door only for us would be worse
            engine = lines.engine
            event.listen(engine, "connect", _hurry)
            # What was compiled is kept under its dialect: one for all engines, or each seed compiles anew.
            engine.dialect = self._dialect = self._dialect or engine.dialect
            engine._compiled_cache = self._compiled  # noqa: SLF001 - as above
            for conn in lines._free:  # noqa: SLF001 - as above: what the check has opened is used on
                conn.dialect = engine.dialect
                _hurry(conn.connection.driver_connection, None)
        return {each.name: getattr(store, each.name) for each in fields(store)} | {"entropy": entropy}

    def close(self) -> None:
        """The process that had it open is gone."""
        if self._store is not None:
            self._store.close()
            self._store = None


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
