"""One day's clearing of what has had its time, in steps so small that nobody has to wait for one.

Must not choose what may go (`store/retention.py` and `leftovers.py` do), nor when (`retention.py` does).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from autopilot.config.logs import logger
from autopilot.daemon import leftovers, schedules
from autopilot.daemon.store import retention as rows
from autopilot.daemon.store import steps
from autopilot.schemas.errors import TransientError
from autopilot.schemas.events import Event
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection

    from autopilot.config.clock import Clock
    from autopilot.daemon.schedules import Due
    from autopilot.daemon.shop import Shop

T = TypeVar("T")

TURN_S = 0.05
"""How long one tick clears."""
MAX_STEPS = 40
ROWS_FIRST, ROWS_LEAST, ROWS_MOST = 200, 20, 2000
STEP_SLOW_S, STEP_FAST_S = 0.05, 0.01
FREE_PAGES = 256
_DAY_MS = 24 * 3600 * MS_PER_S


class Pass:
    """One day's clearing, as far as it came."""

    def __init__(self, shop: Shop, due: Due) -> None:
        """Begin; the cut-offs are those of this moment."""
        self.due = due
        self._clock, self._offset_ms = shop.clock, _offset_ms(shop.clock)
        self.rows = 0
        self.files = 0
        self.limit = ROWS_FIRST
        self.slowest_s = 0.0
        self.steps = _steps(shop, self)

    @property
    def is_overtaken(self) -> bool:
        """Tell whether the clock was set since: its cut-offs mean something else now."""
        return abs(_offset_ms(self._clock) - self._offset_ms) > steps.NOTICED_MS

    def go_on(self, shop: Shop) -> bool:
        """Take steps until the turn is over; True when there are none left."""
        until_s = shop.clock.monotonic_s() + TURN_S
        for _ in range(MAX_STEPS):
            if next(self.steps, self) is self:
                return True
            if shop.clock.monotonic_s() >= until_s:
                break
        return False

    def settle(self, shop: Shop) -> None:
        """Write down that it came to its end, and say what it removed."""
        schedules.settle(shop.store, self.due)
        if self.rows or self.files:
            facts = {"rows": self.rows, "files": self.files}
            slowest_ms = round(self.slowest_s * MS_PER_S)
            logger("daemon").info(Event.STORE_PRUNED, **facts, slowest_ms=slowest_ms)


def _steps(shop: Shop, under_way: Pass) -> Iterator[None]:
    retention = shop.settings.retention
    with shop.store.read() as conn:
        cutoffs = _cutoffs(shop, conn)
        logs_ms = _before(shop, conn, retention.logs_days)
        files_ms = _before(shop, conn, retention.files_days)
    for _ in _rows(shop, under_way, cutoffs):
        yield
    files = leftovers.clear(
        shop.store,
        shop.paths,
        logs_before_ms=logs_ms,
        files_before_ms=files_ms,
    )
    for removed in files:
        under_way.files += removed
        yield
    for _ in _given_back(shop):
        yield


def _cutoffs(shop: Shop, conn: Connection) -> rows.Cutoffs:
    retention, gc = shop.settings.retention, shop.settings.gc
    every = (
        retention.history_days,
        retention.ledger_days,
        retention.tickets_days,
        retention.logs_days,
        retention.files_days,
    )
    return rows.Cutoffs(
        now_ms=shop.now_ms(),
        history_ms=_before(shop, conn, retention.history_days),
        ledger_ms=_before(shop, conn, retention.ledger_days),
        tickets_ms=_before(shop, conn, retention.tickets_days) if retention.tickets_days else None,
        steps_ms=min(_before(shop, conn, days) for days in (*every, gc.keep_days)),
    )


def _before(shop: Shop, conn: Connection, days: int) -> int:
    return steps.cutoff_ms(conn, shop.clock, days * _DAY_MS)


def _offset_ms(clock: Clock) -> int:
    """Give what only somebody who sets the clock changes."""
    return clock.now_ms() - round(clock.elapsed_s() * MS_PER_S)


def _rows(shop: Shop, under_way: Pass, cutoffs: rows.Cutoffs) -> Iterator[None]:
    """Sweep every table, each step one transaction whose size follows how long the last one took."""
    for sweep in rows.SWEEPS:
        cursor: rows.Cursor | None = rows.START
        while cursor is not None:
            started_s, begin, limit = shop.clock.monotonic_s(), cursor, under_way.limit
            batch = _written(shop, partial(_swept, sweep, cutoffs, (begin, limit)))
            if batch is None:
                yield
                continue
            took_s = shop.clock.monotonic_s() - started_s
            under_way.rows += batch.removed
            under_way.slowest_s = max(under_way.slowest_s, took_s)
            under_way.limit = _next_limit(under_way.limit, took_s)
            cursor = batch.cursor
            yield


def _swept(
    sweep: rows.Sweep, cutoffs: rows.Cutoffs, at: tuple[rows.Cursor, int], conn: Connection
) -> rows.Batch:
    return sweep(conn, cutoffs, *at)


def _written(shop: Shop, work: Callable[[Connection], T]) -> T | None:
    """Do it in a transaction; None while somebody else holds the database: the pass goes on later."""
    try:
        with shop.store.write() as conn:
            return work(conn)
    except TransientError as error:
        if error.code != "database-busy":
            raise
        return None


def _next_limit(limit: int, took_s: float) -> int:
    if took_s > STEP_SLOW_S:
        return max(ROWS_LEAST, limit // 2)
    return min(ROWS_MOST, limit * 2) if took_s < STEP_FAST_S else limit


def _given_back(shop: Shop) -> Iterator[None]:
    """Give free pages back to the disk, some at a time, until there are few."""
    free, before = _free_pages(shop), 0
    while free > FREE_PAGES and free != before:
        _written(shop, partial(rows.give_back, pages=FREE_PAGES))
        free, before = _free_pages(shop), free
        yield


def _free_pages(shop: Shop) -> int:
    with shop.store.read() as conn:
        return rows.free_pages(conn)
