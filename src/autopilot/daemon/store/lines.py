"""The open connections of one engine, kept between transactions, and transactions begun by the driver.

SQLAlchemy's own checkout, transaction and return cost as much as three statements. Must not know tables, nor
what SQLite's errors mean: see `damage.py`. Source: docs/decisions/0095.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
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
        self._seats = threading.BoundedSemaphore(most)

    @contextmanager
    def lent(self) -> Iterator[Connection]:
        """Give a connection outside any transaction.

        Raises:
            sqlalchemy.exc.TimeoutError: others kept all of them for too long.
        """
        wait_s = _WAIT_S if self._patience is None else min(_WAIT_S, self._patience.left_s)
        if not self._seats.acquire(timeout=wait_s):
            raise WaitedTooLong("no connection came free")
        try:
            conn = self._take()
            try:
                yield conn
            except BaseException:
                conn.close()  # which rolls back; the pool keeps what is still sound
                raise
            self._free.append(conn)
        finally:
            self._seats.release()

    def _take(self) -> Connection:
        try:
            return self._free.pop()
        except IndexError:
            return self.engine.connect()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Give a connection that is inside a transaction; commits at the end, rolls back on any error."""
        with self.lent() as conn:
            raw: Any = conn.connection.dbapi_connection
            self._begin(raw)
            yield conn
            if conn.in_transaction():  # somebody went through SQLAlchemy, which then thinks it began it
                conn.commit()
            else:
                raw.commit()

    def close(self) -> None:
        """Close what is not lent."""
        while self._free:
            self._free.pop().close()
        self.engine.dispose()
