"""What is known about money, brakes, switch and schedules. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, case, func, literal_column, or_, select, true

from autopilot.daemon.budget import ROLLING_MS
from autopilot.daemon.store import mapping, steps
from autopilot.daemon.store.prepared import Prepared
from autopilot.daemon.store.queries_runs import running
from autopilot.daemon.store.rows import Breaker, Spending, StoreFacts
from autopilot.daemon.store.tables import ATTEMPTS, IS_LIVE_RUN
from autopilot.daemon.store.tables_host import (
    AGENT_WINDOWS,
    BREAKERS,
    DELIVERIES,
    FIRINGS,
    HOLDS,
    SWITCH,
)
from autopilot.schemas.errors import InvariantError
from autopilot.schemas.ids import ticket_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Select
    from sqlalchemy.sql.functions import Function

    from autopilot.daemon.store.rows import AgentWindow, Switch
    from autopilot.schemas.ticket import Hold

_SWITCH = Prepared(lambda: select(SWITCH))
# The row lock keeps other claimers out where the database has no single writer (PostgreSQL).
_SWITCH_LOCKED = Prepared(lambda: select(SWITCH).with_for_update())
_BREAKERS = Prepared(lambda: select(BREAKERS).order_by(BREAKERS.c.scope))
_MOST_SCOPES = 3  # of a run: host, agent and repository
_BREAKERS_OF = Prepared(
    lambda: select(BREAKERS).where(
        BREAKERS.c.scope.in_([bindparam(f"scope_{n}") for n in range(_MOST_SCOPES)])
    )
)
_WINDOWS = Prepared(lambda: select(AGENT_WINDOWS).order_by(AGENT_WINDOWS.c.agent))
_UNSENT = Prepared(lambda: select(DELIVERIES.c.id).where(DELIVERIES.c.ended_ms.is_(None)).limit(1))
_HOLDS = Prepared(lambda: select(HOLDS).order_by(HOLDS.c.since_ms, HOLDS.c.name, HOLDS.c.scope))
_LAST_LAUNCH = Prepared(lambda: select(func.max(ATTEMPTS.c.started_ms)))
_LAST_FIRING = Prepared(
    lambda: select(func.max(FIRINGS.c.nominal_ms)).where(
        or_(
            FIRINGS.c.schedule == bindparam("name"),
            FIRINGS.c.schedule.between(bindparam("first"), bindparam("last")),
        )
    )
)
_FIRED = Prepared(lambda: select(FIRINGS.c.schedule).where(FIRINGS.c.schedule == bindparam("name")).limit(1))
_ENDED_LATELY = Prepared(
    lambda: select(ATTEMPTS.c.ticket, ATTEMPTS.c.run_id).where(_is_recent()).order_by(ATTEMPTS.c.finished_ms)
)
_CHARGES = Prepared(
    lambda: (
        select(ATTEMPTS.c.finished_ms, ATTEMPTS.c.spent_micro_usd)
        .where(_is_recent())
        .order_by(ATTEMPTS.c.finished_ms)
    )
)


def _is_recent() -> ColumnElement[bool]:
    return steps.is_recent(ATTEMPTS.c.finished_ms)


def _spent() -> Function[int]:
    return func.coalesce(func.sum(ATTEMPTS.c.spent_micro_usd), 0)


def _promised() -> Function[int]:
    larger = (ATTEMPTS.c.spent_micro_usd > ATTEMPTS.c.reserved_micro_usd, ATTEMPTS.c.spent_micro_usd)
    return func.coalesce(func.sum(case(larger, else_=ATTEMPTS.c.reserved_micro_usd)), 0)


def settled_sum() -> ColumnElement[int]:
    """Build the charges of the last 24 hours, for use inside a condition; `since_ms` is where they begin."""
    return select(_spent()).where(_is_recent()).scalar_subquery()


def promised_sum() -> ColumnElement[int]:
    """Build what live runs hold back, for the same: their reservations, or spends that are larger already."""
    return select(_promised()).where(IS_LIVE_RUN).scalar_subquery()


def _spending() -> Select[Any]:
    """Build the sums of what has ended and of what is live: a row each, and together one."""
    unknown = case((ATTEMPTS.c.spend_known, literal_column("0")), else_=literal_column("1"))
    sums = (_spent().label("settled"), func.coalesce(func.sum(unknown), 0).label("unknown"))
    settled = select(*sums).where(_is_recent()).subquery()
    live = select(_promised().label("reserved"), _spent().label("spent")).where(IS_LIVE_RUN).subquery()
    return select(settled, live).join_from(settled, live, true())


_SPENDING = Prepared(_spending)


def since_ms(now_ms: int) -> int:
    """Give the moment (UTC epoch ms) at which the rolling 24 hours begin."""
    return now_ms - ROLLING_MS


def facts(conn: Connection, now_ms: int) -> StoreFacts:
    """Gather what admission must know, as of one moment."""
    last_launch_ms: int | None = _LAST_LAUNCH.scalar(conn)
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
    row = (_SWITCH_LOCKED if is_locking else _SWITCH).row(conn)
    if row is None:
        raise InvariantError("switch-lost", "the switch has no row")
    return mapping.to_switch(row)


def breakers(conn: Connection) -> tuple[Breaker, ...]:
    """Give every breaker that ever counted something."""
    return tuple(map(mapping.to_breaker, _BREAKERS.rows(conn)))


def breaker(conn: Connection, scope: str) -> Breaker:
    """Give one breaker; closed where nothing was ever counted."""
    return breakers_of(conn, [scope])[0]


def breakers_of(conn: Connection, scopes: Sequence[str]) -> tuple[Breaker, ...]:
    """Give the breakers of these scopes, in their order; closed where nothing was ever counted."""
    asked = {f"scope_{n}": scopes[n % len(scopes)] for n in range(_MOST_SCOPES)}
    found = {row["scope"]: mapping.to_breaker(row) for row in _BREAKERS_OF.rows(conn, asked)}
    return tuple(found.get(scope, Breaker(scope=scope)) for scope in scopes)


def has_unsent(conn: Connection) -> bool:
    """Tell whether a text waits for its turn, or was under way when it was last heard of."""
    return bool(_UNSENT.rows(conn))


def agent_windows(conn: Connection) -> tuple[AgentWindow, ...]:
    """Give the agents whose usage window is used up."""
    return tuple(map(mapping.to_window, _WINDOWS.rows(conn)))


def holds(conn: Connection) -> tuple[Hold, ...]:
    """Give the holds that stood at the last tick, the oldest first."""
    return tuple(map(mapping.to_hold, _HOLDS.rows(conn)))


def last_firing(conn: Connection, schedule: str) -> int | None:
    """Give the latest nominal instant (UTC epoch ms) that a schedule fired for."""
    names = {"name": schedule, "first": f"{schedule} ", "last": f"{schedule} ~"}
    nominal_ms: int | None = _LAST_FIRING.scalar(conn, names)
    return nominal_ms


def has_fired(conn: Connection, schedule: str, day: str) -> bool:
    """Tell whether a schedule has fired for a local date (YYYY-MM-DD)."""
    return _FIRED.row(conn, {"name": f"{schedule} {day}"}) is not None


def ended_lately(conn: Connection, now_ms: int) -> tuple[tuple[str, str], ...]:
    """Name the runs that ended in the last 24 hours, each with its ticket."""
    rows = _ENDED_LATELY.rows(conn, {"since_ms": since_ms(now_ms), "now_ms": now_ms})
    return tuple((ticket_id(row["ticket"]), row["run_id"]) for row in rows)


def charges(conn: Connection, now_ms: int) -> tuple[tuple[int, int], ...]:
    """Give when each run of the last 24 hours ended and what it was charged, the oldest first."""
    rows = _CHARGES.rows(conn, {"since_ms": since_ms(now_ms), "now_ms": now_ms})
    return tuple((row["finished_ms"], row["spent_micro_usd"]) for row in rows)


def spending(conn: Connection, now_ms: int) -> Spending:
    """Sum the last 24 hours. Each run counts once: live at its reservation or more, ended at its charge."""
    (row,) = _SPENDING.rows(conn, {"since_ms": since_ms(now_ms), "now_ms": now_ms})
    return Spending(
        settled_micro_usd=row["settled"],
        reserved_micro_usd=row["reserved"],
        live_spent_micro_usd=row["spent"],
        unknown_runs=row["unknown"],
    )
