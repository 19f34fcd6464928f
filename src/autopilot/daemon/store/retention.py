"""Removes rows that have had their time, a small batch per transaction, so that no writer waits for it.

Only rows of tickets that ended long ago; the tickets themselves stay unless the operator wants them gone.
Must not read a table from its start to its end: each batch begins where the last one ended, by an index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import and_, delete, or_, select, text

from autopilot.daemon.store import queries_host, steps
from autopilot.daemon.store.tables import ATTEMPTS, DEPENDENCIES, EXCHANGES, HISTORY, TICKETS
from autopilot.daemon.store.tables_host import (
    DELIVERIES,
    FIRINGS,
    GATES,
    IS_OPEN_DRAFT,
    LEDGER,
    PAST_HOLDS,
    PUBLICATIONS,
    SLEEPS,
)
from autopilot.schemas.machine import FINAL_STATES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection, Row, Table

    Sweep = Callable[[Connection, "Cutoffs", "Cursor", int], "Batch"]

_FINAL = sorted(state.value for state in FINAL_STATES)
_IS_OVER = TICKETS.c.state.in_(_FINAL)
Cursor = tuple[int, int]
START: Cursor = (-1, -1)


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """UTC epoch ms: what is older may go. None: never."""

    now_ms: int
    history_ms: int
    ledger_ms: int
    tickets_ms: int | None
    steps_ms: int
    """Steps of the clock: no later than any other cut-off, which is found by them."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What one transaction removed, and where the next begins; None when the end is reached."""

    removed: int
    cursor: Cursor | None


def history(conn: Connection, cutoffs: Cutoffs, cursor: Cursor, limit: int) -> Batch:
    """Remove moves of tickets that ended before the cut-off, and first what their gates recorded."""
    rows = _aged(conn, HISTORY, cutoffs.history_ms, cursor, limit=limit)
    over = [row for row in rows if row.is_over]
    gates = _gates(conn, sorted({row.ticket for row in over}), limit)
    if gates >= limit:
        return Batch(gates, cursor)  # the same again: there is more of it
    _delete(conn, HISTORY, [row.id for row in over])
    return Batch(gates + len(over), _next(rows, limit))


def ledger(conn: Connection, cutoffs: Cutoffs, cursor: Cursor, limit: int) -> Batch:
    """Remove entries of tickets that ended before the cut-off; sums are kept with runs and tickets."""
    rows = _aged(conn, LEDGER, cutoffs.ledger_ms, cursor, limit=limit)
    over = [row for row in rows if row.is_over]
    _delete(conn, LEDGER, [row.id for row in over])
    return Batch(len(over), _next(rows, limit))


def firings(conn: Connection, cutoffs: Cutoffs, cursor: Cursor, limit: int) -> Batch:
    """Remove firings but the last of each schedule, whose name is its first word. There are a few a day."""
    del cursor, limit
    rows = conn.execute(select(FIRINGS.c.schedule, FIRINGS.c.nominal_ms)).all()
    last: dict[str, int] = {}
    for name, nominal_ms in rows:
        last[name.split()[0]] = max(nominal_ms, last.get(name.split()[0], 0))
    old = {steps.SCHEDULE: cutoffs.steps_ms}
    over = [
        row
        for row in rows
        for name in row.schedule.split()[:1]
        if row.nominal_ms < min(old.get(name, cutoffs.history_ms), last[name])
    ]
    for row in over:
        mine = and_(FIRINGS.c.schedule == row.schedule, FIRINGS.c.nominal_ms == row.nominal_ms)
        conn.execute(delete(FIRINGS).where(mine))
    return Batch(len(over), None)


def tickets(conn: Connection, cutoffs: Cutoffs, cursor: Cursor, limit: int) -> Batch:
    """Remove whole tickets, where the operator wants that, with everything that hangs on them.

    One that a ticket still waits for stays, one whose draft is open, and one whose money still counts.
    """
    if cutoffs.tickets_ms is None:
        return Batch(0, None)
    few = max(1, limit // 20)  # each has some twenty rows in other tables
    state, number = cursor
    if state < 0:
        return Batch(0, (0, -1))
    mine = and_(TICKETS.c.state == _FINAL[state], TICKETS.c.short_id > number)
    rows = conn.execute(
        select(TICKETS.c.short_id, TICKETS.c.updated_ms).where(mine).order_by(TICKETS.c.short_id).limit(few)
    ).all()
    old = [row.short_id for row in rows if row.updated_ms < cutoffs.tickets_ms]
    free = [] if not old else _free(conn, old, cutoffs.now_ms)
    _forget(conn, free)
    if len(rows) == few:
        return Batch(len(free), (state, rows[-1].short_id))
    return Batch(len(free), (state + 1, -1) if state + 1 < len(_FINAL) else None)


def asleep(conn: Connection, cutoffs: Cutoffs, cursor: Cursor, limit: int) -> Batch:
    """Remove what is known of sleep before the cut-off of moves. There are a few rows a day."""
    del cursor, limit
    gone = conn.execute(delete(SLEEPS).where(SLEEPS.c.started_ms < cutoffs.history_ms))
    return Batch(gone.rowcount, None)


def delivered(conn: Connection, cutoffs: Cutoffs, cursor: Cursor, limit: int) -> Batch:
    """Remove what went out, or did not, before the cut-off of moves. There are a few rows a day."""
    del cursor, limit
    gone = conn.execute(delete(DELIVERIES).where(DELIVERIES.c.ended_ms < cutoffs.history_ms))
    return Batch(gone.rowcount, None)


def held(conn: Connection, cutoffs: Cutoffs, cursor: Cursor, limit: int) -> Batch:
    """Remove holds that ended before the cut-off of moves. One that comes and goes is one row in a while."""
    del cursor
    columns = PAST_HOLDS.c
    found = select(columns.id).where(columns.until_ms < cutoffs.history_ms).order_by(columns.until_ms)
    old = conn.execute(found.limit(limit)).scalars().all()
    return Batch(_delete(conn, PAST_HOLDS, old), START if len(old) == limit else None)


SWEEPS: Sequence[Sweep] = (history, ledger, firings, asleep, delivered, held, tickets)


def free_pages(conn: Connection) -> int:
    """Count the pages of the file that hold nothing and can be given back; none in an old file.

    Source: https://www.sqlite.org/pragma.html#pragma_auto_vacuum: 2 is incremental.
    """
    if conn.execute(text("PRAGMA auto_vacuum")).scalar() != 2:  # noqa: PLR2004 - SQLite's own number
        return 0
    return int(conn.execute(text("PRAGMA freelist_count")).scalar_one())


def give_back(conn: Connection, pages: int) -> None:
    """Give so many free pages back to the disk.

    Python's driver makes one step of a statement that has no columns, and each step gives one page.
    """
    for _ in range(pages):
        conn.exec_driver_sql("PRAGMA incremental_vacuum(1)")


def _aged(
    conn: Connection, table: Table, cutoff_ms: int, cursor: Cursor, *, limit: int
) -> Sequence[Row[tuple[int, int, int, bool]]]:
    """Read the next rows of a table by age; of each, whether its ticket ended before the cut-off."""
    is_over = and_(_IS_OVER, TICKETS.c.updated_ms < cutoff_ms).label("is_over")
    columns = table.c
    statement = (
        select(columns.id, columns.at_ms, columns.ticket, is_over)
        .join(TICKETS, TICKETS.c.short_id == columns.ticket)
        .where(
            columns.at_ms < cutoff_ms,
            columns.at_ms >= cursor[0],
            or_(columns.at_ms > cursor[0], columns.id > cursor[1]),
        )
        .order_by(columns.at_ms, columns.id)
        .limit(limit)
    )
    return conn.execute(statement).all()


def _next(rows: Sequence[Row[tuple[int, int, int, bool]]], limit: int) -> Cursor | None:
    return (rows[-1].at_ms, rows[-1].id) if len(rows) == limit else None


def _gates(conn: Connection, numbers: Sequence[int], limit: int) -> int:
    if not numbers:
        return 0
    found = select(GATES.c.id).where(GATES.c.ticket.in_(numbers)).limit(limit)
    return _delete(conn, GATES, conn.execute(found).scalars().all())


def _delete(conn: Connection, table: Table, ids: Sequence[int]) -> int:
    if ids:
        conn.execute(delete(table).where(table.c.id.in_(ids)))
    return len(ids)


def _free(conn: Connection, numbers: Sequence[int], now_ms: int) -> list[int]:
    """Choose those that nothing needs any more."""
    waiting = (
        select(DEPENDENCIES.c.depends_on)
        .join(TICKETS, TICKETS.c.short_id == DEPENDENCIES.c.ticket)
        .where(DEPENDENCIES.c.depends_on.in_(numbers), ~_IS_OVER)
    )
    in_review = select(PUBLICATIONS.c.ticket).where(PUBLICATIONS.c.ticket.in_(numbers), IS_OPEN_DRAFT)
    counts = or_(ATTEMPTS.c.finished_ms.is_(None), steps.is_recent(ATTEMPTS.c.finished_ms))
    paid = select(ATTEMPTS.c.ticket).where(ATTEMPTS.c.ticket.in_(numbers), counts)
    day = {"since_ms": queries_host.since_ms(now_ms), "now_ms": now_ms}
    found = (conn.execute(waiting), conn.execute(in_review), conn.execute(paid, day))
    needed = {number for rows in found for number in rows.scalars()}
    return [number for number in numbers if number not in needed]


def _forget(conn: Connection, numbers: Sequence[int]) -> None:
    if not numbers:
        return
    for column in (DEPENDENCIES.c.ticket, DEPENDENCIES.c.depends_on):
        conn.execute(delete(DEPENDENCIES).where(column.in_(numbers)))
    for table in (EXCHANGES, HISTORY, GATES, LEDGER, PUBLICATIONS, ATTEMPTS):
        conn.execute(delete(table).where(table.c.ticket.in_(numbers)))
    conn.execute(delete(TICKETS).where(TICKETS.c.short_id.in_(numbers)))
