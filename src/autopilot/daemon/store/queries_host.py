"""What is known about money, brakes, switch and schedules. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import case, func, select

from autopilot.daemon.budget import ROLLING_MS
from autopilot.daemon.store import mapping
from autopilot.daemon.store.queries_runs import running
from autopilot.daemon.store.rows import Breaker, Spending, StoreFacts
from autopilot.daemon.store.tables import ATTEMPTS, IS_LIVE_RUN
from autopilot.daemon.store.tables_host import AGENT_WINDOWS, BREAKERS, FIRINGS, HOLDS, SWITCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, ScalarSelect

    from autopilot.daemon.store.rows import AgentWindow, Switch
    from autopilot.schemas.ticket import Hold


def facts(conn: Connection, now_ms: int) -> StoreFacts:
    """Gather what admission must know, as of one moment."""
    last_launch_ms: int | None = conn.execute(select(func.max(ATTEMPTS.c.started_ms))).scalar()
    return StoreFacts(
        switch=switch(conn),
        spending=spending(conn, now_ms),
        running=running(conn),
        breakers=breakers(conn),
        agent_windows=agent_windows(conn),
        last_launch_ms=last_launch_ms,
    )


def switch(conn: Connection) -> Switch:
    """Give the operator's last word."""
    return mapping.to_switch(conn.execute(select(SWITCH)).one())


def breakers(conn: Connection) -> tuple[Breaker, ...]:
    """Give every breaker that ever counted something."""
    return tuple(map(mapping.to_breaker, conn.execute(select(BREAKERS).order_by(BREAKERS.c.scope))))


def breaker(conn: Connection, scope: str) -> Breaker:
    """Give one breaker; closed where nothing was ever counted."""
    return breakers_of(conn, [scope])[0]


def breakers_of(conn: Connection, scopes: Sequence[str]) -> tuple[Breaker, ...]:
    """Give the breakers of these scopes, in their order; closed where nothing was ever counted."""
    rows = conn.execute(select(BREAKERS).where(BREAKERS.c.scope.in_(scopes)))
    found = {row.scope: mapping.to_breaker(row) for row in rows}
    return tuple(found.get(scope, Breaker(scope=scope)) for scope in scopes)


def agent_windows(conn: Connection) -> tuple[AgentWindow, ...]:
    """Give the agents whose usage window is used up."""
    rows = conn.execute(select(AGENT_WINDOWS).order_by(AGENT_WINDOWS.c.agent))
    return tuple(map(mapping.to_window, rows))


def holds(conn: Connection) -> tuple[Hold, ...]:
    """Give the holds that stood at the last tick, the oldest first."""
    rows = conn.execute(select(HOLDS).order_by(HOLDS.c.since_ms, HOLDS.c.name, HOLDS.c.scope))
    return tuple(map(mapping.to_hold, rows))


def last_firing(conn: Connection, schedule: str) -> int | None:
    """Give the latest nominal instant (UTC epoch ms) that a schedule fired for."""
    statement = select(func.max(FIRINGS.c.nominal_ms)).where(FIRINGS.c.schedule == schedule)
    nominal_ms: int | None = conn.execute(statement).scalar()
    return nominal_ms


def spending(conn: Connection, now_ms: int) -> Spending:
    """Sum the last 24 hours. Each run counts once: live at its reservation or more, ended at its charge."""
    recent = ATTEMPTS.c.finished_ms > now_ms - ROLLING_MS
    unknown = case((ATTEMPTS.c.spend_known, 0), else_=1)
    settled, unknown_runs, oldest_ms = conn.execute(
        select(
            func.coalesce(func.sum(ATTEMPTS.c.spent_micro_usd), 0),
            func.coalesce(func.sum(unknown), 0),
            func.min(ATTEMPTS.c.finished_ms),
        ).where(recent)
    ).one()
    reserved, spent = conn.execute(
        select(
            func.coalesce(func.sum(promised()), 0), func.coalesce(func.sum(ATTEMPTS.c.spent_micro_usd), 0)
        ).where(IS_LIVE_RUN)
    ).one()
    return Spending(
        settled_micro_usd=settled,
        reserved_micro_usd=reserved,
        live_spent_micro_usd=spent,
        unknown_runs=unknown_runs,
        oldest_settled_ms=oldest_ms,
    )


def promised() -> ColumnElement[int]:
    """Give what a live run holds back: its reservation, or its spend where that is larger already."""
    spent, reserved = ATTEMPTS.c.spent_micro_usd, ATTEMPTS.c.reserved_micro_usd
    return case((spent > reserved, spent), else_=reserved)


def settled_sum(now_ms: int) -> ScalarSelect[int]:
    """Sum the charges of the last 24 hours, for use inside a condition."""
    total = func.coalesce(func.sum(ATTEMPTS.c.spent_micro_usd), 0)
    return select(total).where(ATTEMPTS.c.finished_ms > now_ms - ROLLING_MS).scalar_subquery()


def promised_sum() -> ScalarSelect[int]:
    """Sum what live runs hold back, for use inside a condition."""
    total = func.coalesce(func.sum(promised()), 0)
    return select(total).where(IS_LIVE_RUN).scalar_subquery()
