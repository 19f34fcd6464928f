"""What is known about money, brakes, switch and schedules. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, case, func, literal_column, or_, select, true

from autopilot.daemon.budget import ROLLING_MS
from autopilot.daemon.store import mapping, steps
from autopilot.daemon.store.queries_runs import running
from autopilot.daemon.store.rows import Breaker, Spending, StoreFacts
from autopilot.daemon.store.tables import ATTEMPTS, IS_LIVE_RUN
from autopilot.daemon.store.tables_host import AGENT_WINDOWS, BREAKERS, FIRINGS, HOLDS, SWITCH
from autopilot.schemas.ids import ticket_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

    from autopilot.daemon.store.rows import AgentWindow, Switch
    from autopilot.schemas.ticket import Hold

# Built once: to build a statement costs more than to run it.
_SWITCH = select(SWITCH)
# The row lock keeps other claimers out where the database has no single writer (PostgreSQL).
_SWITCH_LOCKED = _SWITCH.with_for_update()
_BREAKERS = select(BREAKERS).order_by(BREAKERS.c.scope)
_BREAKERS_OF = select(BREAKERS).where(BREAKERS.c.scope.in_(bindparam("scopes", expanding=True)))
_WINDOWS = select(AGENT_WINDOWS).order_by(AGENT_WINDOWS.c.agent)
_HOLDS = select(HOLDS).order_by(HOLDS.c.since_ms, HOLDS.c.name, HOLDS.c.scope)
_LAST_LAUNCH = select(func.max(ATTEMPTS.c.started_ms))
_LAST_FIRING = select(func.max(FIRINGS.c.nominal_ms)).where(
    or_(
        FIRINGS.c.schedule == bindparam("name"),
        FIRINGS.c.schedule.between(bindparam("first"), bindparam("last")),
    )
)
_FIRED = select(FIRINGS.c.schedule).where(FIRINGS.c.schedule == bindparam("name")).limit(1)
_SPENT = func.coalesce(func.sum(ATTEMPTS.c.spent_micro_usd), 0)
_RECENT = steps.is_recent(ATTEMPTS.c.finished_ms)
_PROMISED = func.coalesce(
    func.sum(
        case(
            (ATTEMPTS.c.spent_micro_usd > ATTEMPTS.c.reserved_micro_usd, ATTEMPTS.c.spent_micro_usd),
            else_=ATTEMPTS.c.reserved_micro_usd,
        )
    ),
    0,
)
_UNKNOWN = func.coalesce(
    func.sum(case((ATTEMPTS.c.spend_known, literal_column("0")), else_=literal_column("1"))), 0
)
_SETTLED = (
    select(
        _SPENT.label("settled"), _UNKNOWN.label("unknown"), func.min(ATTEMPTS.c.finished_ms).label("oldest")
    )
    .where(_RECENT)
    .subquery()
)
_LIVE = select(_PROMISED.label("reserved"), _SPENT.label("spent")).where(IS_LIVE_RUN).subquery()
_ENDED_LATELY = select(ATTEMPTS.c.ticket, ATTEMPTS.c.run_id).where(_RECENT).order_by(ATTEMPTS.c.finished_ms)
# A row each: together they are one.
_SPENDING = select(_SETTLED, _LIVE).join_from(_SETTLED, _LIVE, true())

SETTLED_SUM: ColumnElement[int] = select(_SPENT).where(_RECENT).scalar_subquery()
"""The charges of the last 24 hours, for use inside a condition; `since_ms` is where they begin."""
PROMISED_SUM: ColumnElement[int] = select(_PROMISED).where(IS_LIVE_RUN).scalar_subquery()
"""What live runs hold back: their reservations, or spends that are larger already; for use in a condition."""


def since_ms(now_ms: int) -> int:
    """Give the moment (UTC epoch ms) at which the rolling 24 hours begin."""
    return now_ms - ROLLING_MS


def facts(conn: Connection, now_ms: int) -> StoreFacts:
    """Gather what admission must know, as of one moment."""
    last_launch_ms: int | None = conn.execute(_LAST_LAUNCH).scalar()
    return StoreFacts(
        switch=switch(conn),
        spending=spending(conn, now_ms),
        running=running(conn),
        breakers=breakers(conn),
        agent_windows=agent_windows(conn),
        last_launch_ms=last_launch_ms,
    )


def switch(conn: Connection, *, is_locking: bool = False) -> Switch:
    """Give the operator's last word; when locking, nobody else can claim until this transaction ends."""
    return mapping.to_switch(conn.execute(_SWITCH_LOCKED if is_locking else _SWITCH).one())


def breakers(conn: Connection) -> tuple[Breaker, ...]:
    """Give every breaker that ever counted something."""
    return tuple(map(mapping.to_breaker, conn.execute(_BREAKERS)))


def breaker(conn: Connection, scope: str) -> Breaker:
    """Give one breaker; closed where nothing was ever counted."""
    return breakers_of(conn, [scope])[0]


def breakers_of(conn: Connection, scopes: Sequence[str]) -> tuple[Breaker, ...]:
    """Give the breakers of these scopes, in their order; closed where nothing was ever counted."""
    rows = conn.execute(_BREAKERS_OF, {"scopes": scopes})
    found = {row.scope: mapping.to_breaker(row) for row in rows}
    return tuple(found.get(scope, Breaker(scope=scope)) for scope in scopes)


def agent_windows(conn: Connection) -> tuple[AgentWindow, ...]:
    """Give the agents whose usage window is used up."""
    return tuple(map(mapping.to_window, conn.execute(_WINDOWS)))


def holds(conn: Connection) -> tuple[Hold, ...]:
    """Give the holds that stood at the last tick, the oldest first."""
    return tuple(map(mapping.to_hold, conn.execute(_HOLDS)))


def last_firing(conn: Connection, schedule: str) -> int | None:
    """Give the latest nominal instant (UTC epoch ms) that a schedule fired for."""
    names = {"name": schedule, "first": f"{schedule} ", "last": f"{schedule} ~"}
    nominal_ms: int | None = conn.execute(_LAST_FIRING, names).scalar()
    return nominal_ms


def has_fired(conn: Connection, schedule: str, day: str) -> bool:
    """Tell whether a schedule has fired for a local date (YYYY-MM-DD)."""
    return conn.execute(_FIRED, {"name": f"{schedule} {day}"}).first() is not None


def ended_lately(conn: Connection, now_ms: int) -> tuple[tuple[str, str], ...]:
    """Name the runs that ended in the last 24 hours, each with its ticket."""
    rows = conn.execute(_ENDED_LATELY, {"since_ms": since_ms(now_ms), "now_ms": now_ms})
    return tuple((ticket_id(ticket), run_id) for ticket, run_id in rows)


def spending(conn: Connection, now_ms: int) -> Spending:
    """Sum the last 24 hours. Each run counts once: live at its reservation or more, ended at its charge."""
    settled, unknown_runs, oldest_ms, reserved, spent = conn.execute(
        _SPENDING, {"since_ms": since_ms(now_ms), "now_ms": now_ms}
    ).one()
    return Spending(
        settled_micro_usd=settled,
        reserved_micro_usd=reserved,
        live_spent_micro_usd=spent,
        unknown_runs=unknown_runs,
        oldest_settled_ms=oldest_ms,
    )
