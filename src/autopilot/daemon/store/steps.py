"""What follows when the machine's clock is set: the step is recorded, and what we set for later moves along.

Must not touch the moments that a person has said (a ticket's first time, `on --until`) or what has happened.
How long runs may finish for (`off --drain`) is no moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    text,
    update,
)

from autopilot.daemon.store.prepared import Prepared
from autopilot.daemon.store.tables import ATTEMPTS, IS_COMMITTED, IS_QUEUED, TICKETS
from autopilot.daemon.store.tables_host import AGENT_WINDOWS, BREAKERS, DELIVERIES, FIRINGS, SWITCH
from autopilot.daemon.store.unit import Unit, in_one
from autopilot.schemas.events import Event
from autopilot.schemas.records import LAST_MS
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from sqlalchemy import Column, Connection, Update

    from autopilot.config.clock import Clock
    from autopilot.daemon.store.engine import Store

SCHEDULE = "clock-step"
"""A step is a firing: `nominal_ms` is the new time, `fired_ms` the old one.

A later step moves the new time along: `nominal_ms - fired_ms` is by how much what came before is off now."""
SEEN = "clock-seen"
"""What the clock showed, a firing named after the boot: `fired_ms`, when `nominal_ms` had passed of it."""
NOTICED_MS = 30 * MS_PER_S
"""A clock that is corrected by less was not set."""
_SLACK_MS = 60 * MS_PER_S
_FORGOTTEN_MS = 24 * 3600 * MS_PER_S
_BEFORE, _AFTER = FIRINGS.c.fired_ms, FIRINGS.c.nominal_ms
_IS_STEP = and_(FIRINGS.c.schedule == SCHEDULE, bindparam("since_ms") < _AFTER)
_FURTHEST = select(func.coalesce(func.max(_AFTER - _BEFORE), 0)).where(_IS_STEP, _AFTER > _BEFORE)
_FURTHEST_NOW = Prepared(lambda: _FURTHEST)
_KNOWN = Prepared(
    lambda: select(FIRINGS.c.schedule).where(FIRINGS.c.schedule == SCHEDULE, bindparam("at_ms") == _AFTER)
)
_SEEN = select(_AFTER, _BEFORE)
_IS_SEEN = FIRINGS.c.schedule.between(f"{SEEN} ", f"{SEEN} ~")  # what the key finds
_SEEN_NOW = Prepared(lambda: _SEEN.where(_IS_SEEN))
_SEEN_OF_BOOT = Prepared(lambda: _SEEN.where(FIRINGS.c.schedule == bindparam("name")))
_FORGET_SEEN = Prepared(lambda: delete(FIRINGS).where(_IS_SEEN))
_NEW = Prepared(lambda: insert(FIRINGS))
_LATEST_END = Prepared(lambda: select(func.max(ATTEMPTS.c.finished_ms)))
_LATEST_STEP = Prepared(lambda: select(func.max(_BEFORE)).where(FIRINGS.c.schedule == SCHEDULE))
_STEPS = select(_AFTER, _BEFORE).where(FIRINGS.c.schedule == SCHEDULE).order_by(text("rowid"))


def _moved(column: Column[int]) -> ColumnElement[int]:
    there = column + bindparam("by_ms", type_=BigInteger)
    return case((there < 0, 0), (there > LAST_MS, LAST_MS), else_=there)


def _waiting_tickets() -> Update:
    """Choose those whose time is ours, and not what a person has said."""
    is_ours = or_(TICKETS.c.attempts > 0, TICKETS.c.releases > 0, IS_COMMITTED)
    later = and_(or_(IS_QUEUED, IS_COMMITTED), TICKETS.c.not_before_ms > 0, is_ours)
    return update(TICKETS).where(later).values(not_before_ms=_moved(TICKETS.c.not_before_ms))


_AHEAD = (
    Prepared(_waiting_tickets),
    Prepared(
        lambda: (
            update(BREAKERS)
            .where(BREAKERS.c.cooldown_until_ms.is_not(None))
            .values(cooldown_until_ms=_moved(BREAKERS.c.cooldown_until_ms))
        )
    ),
    Prepared(lambda: update(AGENT_WINDOWS).values(resets_ms=_moved(AGENT_WINDOWS.c.resets_ms))),
    Prepared(
        lambda: (
            update(DELIVERIES)
            .where(DELIVERIES.c.ended_ms.is_(None))
            .values(not_before_ms=_moved(DELIVERIES.c.not_before_ms))
        )
    ),
    Prepared(
        lambda: (
            update(SWITCH)
            .where(SWITCH.c.drain_until_ms.is_not(None))
            .values(drain_until_ms=_moved(SWITCH.c.drain_until_ms))
        )
    ),
)
_SEEN_AHEAD = Prepared(
    lambda: update(FIRINGS).where(_IS_SEEN).values(fired_ms=FIRINGS.c.fired_ms + bindparam("by_ms"))
)


class _Off(NamedTuple):
    """By how much the clock was set (0: not), and what it showed at that look; the next may show another."""

    by_ms: int
    now_ms: int


def is_recent(finished_ms: Column[int]) -> ColumnElement[bool]:
    """Tell whether a moment lies in the last 24 hours that really passed; these begin at `since_ms`.

    Before a step ahead a moment is older by the clock than it is. After a step back one may lie ahead; a
    moment ahead that no step explains was written by a clock that was wrong for longer than a day.
    """
    since_ms: BindParameter[int] = bindparam("since_ms")
    step = select(FIRINGS.c.schedule).where(_IS_STEP)
    older = and_(finished_ms <= _BEFORE, finished_ms > since_ms - (_AFTER - _BEFORE))
    is_plain = finished_ms <= bindparam("now_ms") + _SLACK_MS
    return and_(
        finished_ms > since_ms - _FURTHEST.scalar_subquery(),  # what an index can find
        or_(
            and_(finished_ms > since_ms, or_(is_plain, exists(step.where(_AFTER < _BEFORE)))),
            exists(step.where(_AFTER > _BEFORE, older)),
        ),
    )


def cutoff_ms(conn: Connection, clock: Clock, age_ms: int) -> int:
    """Give the moment (UTC epoch ms) before which all is older than `age_ms` of time that really passed.

    What was stamped before a step ahead is younger than it looks, until that step is as old itself.
    """
    off = _unseen(conn, clock) or _Off(0, clock.now_ms())
    since_ms = off.now_ms - age_ms - max(0, off.by_ms)
    ahead_ms: int = _FURTHEST_NOW.scalar(conn, {"since_ms": since_ms})
    return since_ms - ahead_ms


def record(store: Store, set_ms: int, *, now_ms: int) -> bool:
    """Take down that the clock was set, unless that is known.

    Args:
        store: the store.
        set_ms: by how much it was set ahead; negative: back.
        now_ms: UTC epoch ms after that.
    """

    def work(unit: Unit) -> None:
        off = _unseen(unit.conn, store.clock)
        if off is not None:
            _settle(unit, off)
        elif not _is_known(unit.conn, now_ms):
            _take_down(unit, _Off(set_ms, now_ms))

    in_one(store, work)
    return True


def catch_up(store: Store, boot: str | None) -> bool:
    """Notice at the start that the clock was set while nobody watched, and remember what it shows.

    Within one boot that is exact: what an earlier daemon saw is compared with the time that really passed.
    After a reboot, or where boots have no names, it only shows that a run has ended in the future.
    """

    def work(unit: Unit) -> None:
        if boot is not None and _SEEN_OF_BOOT.row(unit.conn, {"name": _name(boot)}) is not None:
            _settle(unit, _unseen(unit.conn, store.clock))
            return
        _FORGET_SEEN.run(unit.conn, {})
        _settle(unit, _back(unit.conn, store.clock.now_ms()))
        if boot is not None:
            _remember(unit.conn, boot, store.clock)  # after the step, which moves what was seen before it

    in_one(store, work)
    return True


def _settle(unit: Unit, off: _Off | None) -> None:
    if off is not None and off.by_ms:
        _take_down(unit, off)


def _take_down(unit: Unit, off: _Off) -> None:
    set_ms, now_ms = off
    while _is_known(unit.conn, now_ms):  # a clock set to and fro shows the same moment twice
        now_ms += 1
    step = {"schedule": SCHEDULE, "nominal_ms": now_ms, "fired_ms": now_ms - set_ms}
    _NEW.run(unit.conn, step)
    _SEEN_AHEAD.run(unit.conn, {"by_ms": set_ms})
    _move(unit.conn, set_ms)
    unit.note(Event.CLOCK_SET, level="warning", by_s=set_ms // MS_PER_S)


def _is_known(conn: Connection, at_ms: int) -> bool:
    return _KNOWN.row(conn, {"at_ms": at_ms}) is not None


def is_off(conn: Connection, clock: Clock) -> bool:
    """Tell whether the clock was set and that is not written down yet: until then a day's sums are wrong."""
    off = _unseen(conn, clock)
    return off is not None and off.by_ms != 0


def follow(store: Store) -> None:
    """Take down what the clock is off by, however small the steps were that it was set by."""

    def work(unit: Unit) -> None:
        _settle(unit, _unseen(unit.conn, store.clock))

    in_one(store, work)


def _unseen(conn: Connection, clock: Clock) -> _Off | None:
    """Give by how much the clock differs from what it must show by what was seen; None: nothing was."""
    seen = _SEEN_NOW.row(conn)
    if seen is None:
        return None
    must_ms: int = seen["fired_ms"] + round(clock.elapsed_s() * MS_PER_S) - seen["nominal_ms"]
    now_ms = clock.now_ms()
    off_ms = now_ms - must_ms
    return _Off(off_ms if abs(off_ms) > NOTICED_MS else 0, now_ms)


def _remember(conn: Connection, boot: str, clock: Clock) -> None:
    elapsed_ms = round(clock.elapsed_s() * MS_PER_S)
    row = {"schedule": _name(boot), "nominal_ms": elapsed_ms, "fired_ms": clock.now_ms()}
    _NEW.run(conn, row)


def _name(boot: str) -> str:
    return f"{SEEN} {boot}"


def _back(conn: Connection, now_ms: int) -> _Off:
    """Give by how much the clock must have been set back since the latest run ended."""
    latest_ms: int | None = _LATEST_END.scalar(conn)
    told_ms: int = _LATEST_STEP.scalar(conn) or 0
    if latest_ms is None or latest_ms <= max(now_ms + _SLACK_MS, told_ms):
        return _Off(0, now_ms)
    return _Off(now_ms - latest_ms, now_ms)


def _move(conn: Connection, set_ms: int) -> None:
    """Move what lies ahead: waits after a failure, cool-downs, usage windows, messages, a drain."""
    for ahead in _AHEAD:
        ahead.run(conn, {"by_ms": set_ms})
    _move_steps(conn, set_ms)


def _move_steps(conn: Connection, set_ms: int) -> None:
    """Let each earlier step say by how much the moments before it are off now; the newest row is this step.

    One of a day or more that was guessed, from a run that ended in the future, says nothing once the clock
    has come back there: a machine that forgets the time shows another year, and nobody knows how long it was
    off. A smaller one was somebody who sets the clock, and what he does later is added to it.
    """
    rows = conn.execute(_STEPS).all()[:-1]
    taken = {row.nominal_ms for row in conn.execute(_STEPS)}
    ended = select(ATTEMPTS.c.finished_ms).where(ATTEMPTS.c.finished_ms.in_([row.fired_ms for row in rows]))
    guessed = set(conn.execute(ended).scalars())
    for row in rows:
        there = max(0, row.nominal_ms + set_ms)
        if row.nominal_ms <= row.fired_ms - _FORGOTTEN_MS and row.fired_ms in guessed:
            there = min(there, row.fired_ms)
        taken.discard(row.nominal_ms)
        while there in taken:
            there += 1
        taken.add(there)
        mine = and_(FIRINGS.c.schedule == SCHEDULE, row.nominal_ms == _AFTER)
        conn.execute(update(FIRINGS).where(mine).values(nominal_ms=there))
