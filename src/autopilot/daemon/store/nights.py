"""What a night is told by: when the machine slept, how each schedule went last, which sleep locks are held.

Must not say what follows from any of it: `sleeping.py`, `schedules.py` and the digest do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sqlalchemy import bindparam, delete, insert, select, update

from autopilot.daemon.store.prepared import Prepared
from autopilot.daemon.store.tables_host import AWAKE_LOCKS, SCHEDULES, SLEEPS, SWITCH
from autopilot.daemon.store.unit import Unit, in_one
from autopilot.schemas.events import Event
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from autopilot.daemon.store.engine import Store

    ScheduleOutcome = Literal["done", "failed"]

_SINCE = Prepared(
    lambda: (
        select(SLEEPS)
        .where(SLEEPS.c.started_ms + SLEEPS.c.slept_ms >= bindparam("since_ms"))
        .order_by(SLEEPS.c.started_ms)
    )
)
_SCHEDULES = Prepared(lambda: select(SCHEDULES).order_by(SCHEDULES.c.name))
_LOCKS = Prepared(lambda: select(AWAKE_LOCKS).order_by(AWAKE_LOCKS.c.name))

_SCHEDULE = Prepared(lambda: insert(SCHEDULES))
_NO_SCHEDULE = Prepared(lambda: delete(SCHEDULES).where(SCHEDULES.c.name == bindparam("seen_name")))
_SLEEP = Prepared(lambda: insert(SLEEPS))
_IS_KNOWN = Prepared(
    lambda: select(SLEEPS.c.started_ms).where(SLEEPS.c.started_ms == bindparam("started_ms"))
)
_DRAIN_ON = Prepared(
    lambda: (
        update(SWITCH)
        .where(SWITCH.c.drain_until_ms > bindparam("seen_started_ms"))
        .values(drain_until_ms=SWITCH.c.drain_until_ms + bindparam("add_slept_ms"))
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sleep:
    """One stretch in which the machine slept, and what that cost."""

    started_ms: int
    """UTC epoch ms: the last look before it, at most one poll too early."""
    slept_ms: int
    lost_ms: int
    """How much of it lay in hours in which tickets might have been started."""
    runs: tuple[str, ...]
    """Runs and publications that were under way."""

    @property
    def ended_ms(self) -> int:
        """Give when it woke, UTC epoch ms."""
        return self.started_ms + self.slept_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class LastTime:
    """How a schedule went last. Moments are UTC epoch ms."""

    name: str
    due_ms: int
    ended_ms: int
    outcome: str
    """`done` or `failed`; a newer program may know others."""
    detail: str
    next_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LockState:
    """A sleep lock as it was taken last: `night` from on to off, `run` beside the latest child."""

    name: str
    kind: str
    warning: str
    """Why there is none, as a code; empty when it was given."""
    detail: str
    since_ms: int


def record_sleep(store: Store, sleep: Sleep) -> bool:
    """Take down that the machine slept, unless that is known; a drain under way goes on for that much longer.

    Returns:
        Whether it was news.
    """
    row = {
        "started_ms": sleep.started_ms,
        "slept_ms": sleep.slept_ms,
        "lost_ms": sleep.lost_ms,
        "runs": list(sleep.runs),
    }

    def work(unit: Unit) -> bool:
        if _IS_KNOWN.row(unit.conn, {"started_ms": sleep.started_ms}) is not None:
            return False
        _SLEEP.run(unit.conn, row)
        _DRAIN_ON.run(unit.conn, {"seen_started_ms": sleep.started_ms, "add_slept_ms": sleep.slept_ms})
        unit.note(
            Event.MACHINE_WOKE,
            level="warning",
            slept_s=sleep.slept_ms // MS_PER_S,
            lost_s=sleep.lost_ms // MS_PER_S,
            interrupted=", ".join(sleep.runs),
        )
        return True

    return in_one(store, work)


def sleeps(conn: Connection, since_ms: int) -> tuple[Sleep, ...]:
    """Give the stretches that ended after a moment (UTC epoch ms), the oldest first."""
    rows = _SINCE.rows(conn, {"since_ms": since_ms})
    return tuple(Sleep(**{**row, "runs": tuple(map(str, row["runs"]))}) for row in rows)


def note_schedule(unit: Unit, last: LastTime) -> None:
    """Keep how a schedule went; only the latest time is kept."""
    _NO_SCHEDULE.run(unit.conn, {"seen_name": last.name})
    _SCHEDULE.run(unit.conn, {name: getattr(last, name) for name in LastTime.__slots__})


def schedules(conn: Connection) -> tuple[LastTime, ...]:
    """Give how each schedule went last."""
    return tuple(LastTime(**row) for row in _SCHEDULES.rows(conn))


def note_lock(store: Store, name: str, *, kind: str, warning: str, detail: str) -> bool:
    """Keep how a sleep lock was taken; one that is as before keeps its start. Says whether it changed."""
    with store.read() as conn:
        known = next((lock for lock in locks(conn) if lock.name == name), None)
    if known is not None and (known.kind, known.warning) == (kind, warning):
        return False

    def work(unit: Unit) -> None:
        unit.conn.execute(delete(AWAKE_LOCKS).where(AWAKE_LOCKS.c.name == name))
        values = {"name": name, "kind": kind, "warning": warning, "detail": detail, "since_ms": unit.now_ms}
        unit.conn.execute(insert(AWAKE_LOCKS).values(values))

    in_one(store, work)
    return True


def forget_lock(store: Store, name: str) -> None:
    """Nothing is asked for any more under this name."""
    with store.read() as conn:
        is_known = any(lock.name == name for lock in locks(conn))
    if is_known:
        in_one(store, lambda unit: unit.conn.execute(delete(AWAKE_LOCKS).where(AWAKE_LOCKS.c.name == name)))


def locks(conn: Connection) -> tuple[LockState, ...]:
    """Give the sleep locks as they were taken last."""
    return tuple(LockState(**row) for row in _LOCKS.rows(conn))
