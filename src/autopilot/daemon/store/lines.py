"""The open connections of one engine, kept between transactions, and transactions begun by the driver.

SQLAlchemy's own checkout, transaction and return cost as much as three statements. Must not know tables, nor
what SQLite's errors mean: see `damage.py`. Source: docs/decisions/0095.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import TimeoutError as WaitedTooLong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection, Engine

    from autopilot.daemon.store.patience import Patience

    Begin = Callable[[Any], object]

_WAIT_S = 30


class Lines:
    """At most so many connections at once; who finds none free waits for one."""

    __slots__ = ("_begin", "_free", "_patience", "_seats", "engine")

    def __init__(self, engine: Engine, begin: Begin, *, most: int, patience: Patience | None = None) -> None:
        """Open nothing yet.

        Args:
            engine: what opens connections.
            begin: begins a transaction on the driver's connection.
            most: as many as the engine's pool holds.
            patience: how long one thread waits in all.
        """
        self.engine = engine
        self._begin = begin
        self._patience = patience
        self._free: deque[Connection] = deque()
        self._seats: SimpleQueue[None] = SimpleQueue()  # a semaphore that is not written in Python
        for _ in range(most):
            self._seats.put(None)

    def take(self) -> Connection:
        """Give a connection outside any transaction; it comes back by `give`, or by `drop`.

        Raises:
            sqlalchemy.exc.TimeoutError: others kept all of them for too long.
        """
        wait_s = _WAIT_S if self._patience is None else min(_WAIT_S, self._patience.left_s)
        try:
            self._seats.get(timeout=wait_s)
        except Empty:
            raise WaitedTooLong("no connection came free") from None
        try:
            return self._free.pop()
        except IndexError:
            return self._opened()

    def _opened(self) -> Connection:
        try:
            return self.engine.connect()
        except BaseException:
            self._seats.put(None)
            raise

    def give(self, conn: Connection) -> None:
        """Take a connection back that is sound."""
        self._free.append(conn)
        self._seats.put(None)

    def drop(self, conn: Connection) -> None:
        """Roll back what it was in; the pool keeps what is still sound."""
        try:
            conn.close()
        finally:
            self._seats.put(None)

    def begin(self) -> Connection:
        """Give a connection that is inside a transaction, which `commit` or `drop` ends."""
        conn = self.take()
        try:
            self._begin(conn.connection.dbapi_connection)
        except BaseException:
            self.drop(conn)
            raise
        return conn

    def commit(self, conn: Connection) -> None:
        """Commit; where that fails, roll back."""
        try:
            if conn.in_transaction():  # somebody went through SQLAlchemy, which then thinks it began it
                conn.commit()
            else:
                raw: Any = conn.connection.dbapi_connection
                raw.commit()
        except BaseException:
            self.drop(conn)
            raise
        self.give(conn)

    @contextmanager
    def lent(self) -> Iterator[Connection]:
        """Give a connection outside any transaction for the block.

        Raises:
            sqlalchemy.exc.TimeoutError: others kept all of them for too long.
        """
        conn = self.take()
        try:
            yield conn
        except BaseException:
            self.drop(conn)
            raise
        self.give(conn)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Give a connection that is inside a transaction; commits at the end, rolls back on any error."""
        conn = self.begin()
        try:
            yield conn
        except BaseException:
            self.drop(conn)
            raise
        self.commit(conn)

    def close(self) -> None:
        """Close what is not lent."""
        while self._free:
            self._free.pop().close()
        self.engine.dispose()
