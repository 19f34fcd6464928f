"""What follows when the machine's clock is set: the step is recorded, and what we set for later moves along.

Must not touch what a person has said (a ticket's first time, `on --until`) or what has happened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    and_,
    bindparam,
    case,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from autopilot.daemon.store.tables import ATTEMPTS, TICKETS
from autopilot.daemon.store.tables_host import AGENT_WINDOWS, BREAKERS, FIRINGS
from autopilot.daemon.store.unit import Unit, in_one
from autopilot.schemas.events import Event
from autopilot.schemas.machine import State
from autopilot.schemas.records import LAST_MS
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from sqlalchemy import Column, Connection

    from autopilot.daemon.store.engine import Store

SCHEDULE = "clock-step"
"""A step is a firing: `nominal_ms` is the new time, `fired_ms` the old one."""
_SLACK_MS = 60 * MS_PER_S
_BEFORE, _AFTER = FIRINGS.c.fired_ms, FIRINGS.c.nominal_ms
_IS_STEP = and_(FIRINGS.c.schedule == SCHEDULE, bindparam("since_ms") < _AFTER)
_KNOWN = select(FIRINGS.c.schedule).where(FIRINGS.c.schedule == SCHEDULE, bindparam("at_ms") == _AFTER)
_WAITS = (State.QUEUED.value, State.COMMITTED.value)


def is_recent(finished_ms: Column[int]) -> ColumnElement[bool]:
    """Tell whether a moment lies in the last 24 hours that really passed; these begin at `since_ms`.

    Before a step ahead a moment is older by the clock than it is. After a step back one may lie ahead; a
    moment ahead that no step explains was written by a clock that was wrong for longer than a day.
    """
    since_ms: BindParameter[int] = bindparam("since_ms")
    step = select(FIRINGS.c.schedule).where(_IS_STEP)
    furthest = select(func.coalesce(func.max(_AFTER - _BEFORE), 0)).where(_IS_STEP, _AFTER > _BEFORE)
    older = and_(finished_ms <= _BEFORE, finished_ms > since_ms - (_AFTER - _BEFORE))
    is_plain = finished_ms <= bindparam("now_ms") + _SLACK_MS
    return and_(
        finished_ms > since_ms - furthest.scalar_subquery(),  # what an index can find
        or_(
            and_(finished_ms > since_ms, or_(is_plain, exists(step.where(_AFTER < _BEFORE)))),
            exists(step.where(_AFTER > _BEFORE, older)),
        ),
    )


def record(store: Store, set_ms: int, *, now_ms: int) -> None:
    """Take down that the clock was set.

    Args:
        store: the store.
        set_ms: by how much it was set ahead; negative: back.
        now_ms: UTC epoch ms after that.
    """

    def work(unit: Unit) -> None:
        if unit.conn.execute(_KNOWN, {"at_ms": now_ms}).first() is not None:
            return
        step = {"schedule": SCHEDULE, "nominal_ms": now_ms, "fired_ms": now_ms - set_ms}
        unit.conn.execute(insert(FIRINGS).values(step))
        _move(unit.conn, set_ms)
        unit.note(Event.CLOCK_SET, level="warning", by_s=set_ms // MS_PER_S)

    in_one(store, work)


def catch_up(store: Store) -> None:
    """Notice at the start that the clock was set back while nobody watched: a run has ended in the future."""
    now_ms = store.clock.now_ms()
    with store.read() as conn:
        latest_ms: int | None = conn.execute(select(func.max(ATTEMPTS.c.finished_ms))).scalar()
        step = select(func.max(_BEFORE)).where(FIRINGS.c.schedule == SCHEDULE)
        told_ms: int = conn.execute(step).scalar() or 0
    if latest_ms is not None and latest_ms > now_ms + _SLACK_MS and latest_ms > told_ms:
        record(store, now_ms - latest_ms, now_ms=now_ms)


def _move(conn: Connection, set_ms: int) -> None:
    """Move what lies ahead: waits after a failure, cool-downs, usage windows."""

    def moved(column: Column[int]) -> ColumnElement[int]:
        there = column + set_ms
        return case((there < 0, 0), (there > LAST_MS, LAST_MS), else_=there)

    ours = or_(TICKETS.c.attempts > 0, TICKETS.c.releases > 0, TICKETS.c.state == State.COMMITTED.value)
    later = and_(TICKETS.c.state.in_(_WAITS), TICKETS.c.not_before_ms > 0, ours)
    conn.execute(update(TICKETS).where(later).values(not_before_ms=moved(TICKETS.c.not_before_ms)))
    until = BREAKERS.c.cooldown_until_ms
    conn.execute(update(BREAKERS).where(until.is_not(None)).values(cooldown_until_ms=moved(until)))
    conn.execute(update(AGENT_WINDOWS).values(resets_ms=moved(AGENT_WINDOWS.c.resets_ms)))
