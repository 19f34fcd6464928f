"""What is known about tickets. Reads only; each takes a connection, so that several see one moment."""

from __future__ import annotations

import itertools
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sqlalchemy import Integer, Text, bindparam, exists, func, literal_column, select, union_all

from autopilot.daemon.store.mapping import to_exchange, to_history, to_ticket
from autopilot.daemon.store.prepared import Prepared, named
from autopilot.daemon.store.rows import Dependency
from autopilot.daemon.store.tables import DEPENDENCIES, EXCHANGES, HISTORY, IS_COMMITTED, IS_QUEUED, TICKETS
from autopilot.schemas import ids
from autopilot.schemas.machine import FINAL_STATES, State
from autopilot.schemas.ticket import PRIORITY_LOWEST, PRIORITY_URGENT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Select

    from autopilot.daemon.store.rows import HistoryEntry
    from autopilot.schemas.ticket import Exchange, Ticket

_AT_ONCE = 200
_PRIORITIES = range(PRIORITY_URGENT, PRIORITY_LOWEST + 1)
_NUMBER = TICKETS.c.short_id
_ORDER = (TICKETS.c.priority, TICKETS.c.not_before_ms, TICKETS.c.short_id)


def _has_open_dependency() -> ColumnElement[bool]:
    first = TICKETS.alias("first")
    return exists(
        select(1)
        .select_from(DEPENDENCIES)
        .join(first, first.c.short_id == DEPENDENCIES.c.depends_on)
        .where(DEPENDENCIES.c.ticket == TICKETS.c.short_id, first.c.state != State.PUBLISHED.value)
        .correlate(TICKETS)
    )


def _due(*conditions: ColumnElement[bool]) -> Select[Any]:
    """Build the question for the due tickets, in the queue's order.

    One arm per priority: within one the index is ordered by not_before_ms, so that what is not due yet is
    never looked at. One statement for all of them, for to send one costs more than to run it.
    """
    most = bindparam("most", type_=Integer)
    arms = [
        select(TICKETS.c.short_id)
        .where(TICKETS.c.priority == literal_column(str(priority)))
        .where(TICKETS.c.not_before_ms <= bindparam("now_ms"), *conditions)
        .order_by(*_ORDER)
        .limit(most)
        .subquery()
        for priority in _PRIORITIES
    ]
    heads = union_all(*(select(arm.c.short_id) for arm in arms))
    return select(TICKETS).where(TICKETS.c.short_id.in_(heads)).order_by(*_ORDER).limit(most)


def _next_due() -> Select[Any]:
    """Build the question for the first moment at which one more ticket is due, in one statement as above."""
    arms = [
        select(func.min(TICKETS.c.not_before_ms).label("at_ms")).where(
            condition,
            TICKETS.c.priority == literal_column(str(priority)),
            TICKETS.c.not_before_ms > bindparam("now_ms"),
        )
        for condition, priority in itertools.product((IS_QUEUED, IS_COMMITTED), _PRIORITIES)
    ]
    return select(func.min(union_all(*arms).subquery().c.at_ms))


def _of_state(state: State) -> Select[Any]:
    return select(TICKETS).where(TICKETS.c.state == literal_column(f"'{state.value}'")).order_by(_NUMBER)


def _needs(most: int) -> Select[Any]:
    """Build the question for what up to so many tickets wait for."""
    numbers = [bindparam(f"number_{n}", type_=Integer) for n in range(most)]
    return select(DEPENDENCIES).where(DEPENDENCIES.c.ticket.in_(numbers)).order_by(DEPENDENCIES.c.depends_on)


_FINAL: Sequence[ColumnElement[str]] = tuple(
    literal_column(f"'{state.value}'") for state in sorted(FINAL_STATES)
)
_UNFINISHED = frozenset(state for state in State if state not in FINAL_STATES)
_TICKET = Prepared(lambda: select(TICKETS).where(TICKETS.c.short_id == bindparam("number")))
# The state is a literal: with a parameter that decides whether a partial index may be used, SQLite compiles
# the statement anew each time it is run. Source: https://www.sqlite.org/c3ref/stmt_status.html, "REPREPARE"
_IN_STATE: Mapping[State, Prepared] = MappingProxyType(
    {state: Prepared(partial(_of_state, state)) for state in State}
)
_ENDED_SINCE = Prepared(
    lambda: select(TICKETS).where(
        TICKETS.c.state.in_(_FINAL),
        TICKETS.c.short_id.in_(
            select(HISTORY.c.ticket).where(
                HISTORY.c.at_ms >= bindparam("since_ms"), HISTORY.c.to_state.in_(_FINAL)
            )
        ),
    )
)
_DUE_QUEUED = Prepared(lambda: _due(IS_QUEUED, ~_has_open_dependency()))
_DUE_QUEUED_ELSEWHERE = Prepared(
    lambda: _due(
        IS_QUEUED,
        ~_has_open_dependency(),
        TICKETS.c.repo.not_in(bindparam("skip_repos", expanding=True)),
        func.coalesce(TICKETS.c.agent, bindparam("default_agent", type_=Text)).not_in(
            bindparam("skip_agents", expanding=True)
        ),
    )
)
_DUE_COMMITTED = Prepared(lambda: _due(IS_COMMITTED))
_NEXT_DUE = Prepared(_next_due)
_COUNTS = Prepared(lambda: select(TICKETS.c.state, func.count().label("number")).group_by(TICKETS.c.state))
_TICKETS_OF = (
    select(TICKETS)
    .where(TICKETS.c.short_id.in_(bindparam("numbers", expanding=True)))
    .order_by(TICKETS.c.short_id)
)
_NEEDS = (
    select(DEPENDENCIES)
    .where(DEPENDENCIES.c.ticket.in_(bindparam("numbers", expanding=True)))
    .order_by(DEPENDENCIES.c.depends_on)
)
_NEEDS_OF_FEW = tuple((most, Prepared(partial(_needs, most))) for most in (1, 4, 20))
_HISTORY = Prepared(
    lambda: select(HISTORY).where(HISTORY.c.ticket == bindparam("number")).order_by(HISTORY.c.id)
)
_EXCHANGES = Prepared(
    lambda: select(EXCHANGES).where(EXCHANGES.c.ticket == bindparam("number")).order_by(EXCHANGES.c.id)
)
_DEPENDENCIES = Prepared(
    lambda: (
        select(DEPENDENCIES.c.depends_on, TICKETS.c.state)
        .join(TICKETS, TICKETS.c.short_id == DEPENDENCIES.c.depends_on)
        .where(DEPENDENCIES.c.ticket == bindparam("number"))
        .order_by(DEPENDENCIES.c.depends_on)
    )
)


def ticket(conn: Connection, ticket_id: str) -> Ticket | None:
    """Find one ticket.

    Raises:
        TicketError: `ticket-unknown`: the text has not the form of a ticket id.
    """
    row = _TICKET.row(conn, {"number": ids.short_id_of(ticket_id)})
    return None if row is None else _with_dependencies(conn, [row])[0]


def tickets(
    conn: Connection, *, states: Collection[State] = (), repo: str | None = None, limit: int | None = None
) -> tuple[Ticket, ...]:
    """List tickets by number; with a limit, the newest so many."""
    if states and repo is None and limit is None:
        return _with_dependencies(conn, _in_states(conn, states))
    return tuple(each(conn, states=states, repo=repo, limit=limit))


def each(
    conn: Connection, *, states: Collection[State] = (), repo: str | None = None, limit: int | None = None
) -> Iterator[Ticket]:
    """List the same, but only so many are in memory at once; the connection is needed to the end."""
    statement = select(TICKETS.c.short_id).order_by(TICKETS.c.short_id.desc()).limit(limit)
    if states:
        statement = statement.where(TICKETS.c.state.in_([state.value for state in states]))
    if repo is not None:
        statement = statement.where(TICKETS.c.repo == repo)
    numbers = conn.execute(statement).scalars().all()[::-1]
    for begin in range(0, len(numbers), _AT_ONCE):
        some = {"numbers": numbers[begin : begin + _AT_ONCE]}
        yield from _with_dependencies(conn, named(conn.execute(_TICKETS_OF, some)))


def with_pull_request(conn: Connection, names: Collection[str]) -> tuple[str, ...]:
    """Name those of these tickets that are published and whose pull request we know."""
    numbers = sorted(map(ids.short_id_of, names))
    statement = select(TICKETS.c.short_id).where(
        TICKETS.c.short_id.in_(numbers),
        TICKETS.c.state == State.PUBLISHED.value,
        TICKETS.c.pr_url.is_not(None),
    )
    return tuple(ids.ticket_id(number) for number in conn.execute(statement).scalars())


def candidates(
    conn: Connection,
    now_ms: int,
    *,
    default_agent: str,
    limit: int = 20,
    skip_repos: Collection[str] = frozenset(),
    skip_agents: Collection[str] = frozenset(),
) -> tuple[Ticket, ...]:
    """Give the head of the queue: due, with every dependency published.

    Args:
        conn: a connection of the store.
        now_ms: UTC epoch ms.
        default_agent: what a ticket without an agent of its own runs with.
        limit: at most so many.
        skip_repos: repositories that are busy or held, so that their tickets do not clog the head.
        skip_agents: the same for agents.
    """
    asked: dict[str, Any] = {"now_ms": now_ms, "most": limit}
    if not skip_repos and not skip_agents:
        return _with_dependencies(conn, _DUE_QUEUED.rows(conn, asked))
    asked |= {
        "default_agent": default_agent,
        "skip_repos": sorted(skip_repos),
        "skip_agents": sorted(skip_agents),
    }
    return _with_dependencies(conn, named(conn.execute(_DUE_QUEUED_ELSEWHERE.statement, asked)))


def ready_to_publish(conn: Connection, now_ms: int, limit: int = 20) -> tuple[Ticket, ...]:
    """Give committed tickets that are due, in the queue's order."""
    return _with_dependencies(conn, _DUE_COMMITTED.rows(conn, {"now_ms": now_ms, "most": limit}))


def next_due_ms(conn: Connection, now_ms: int) -> int | None:
    """Give the moment (UTC epoch ms) when the next waiting ticket falls due; None when none is waiting."""
    due_ms: int | None = _NEXT_DUE.scalar(conn, {"now_ms": now_ms})
    return due_ms


def of_night(conn: Connection, since_ms: int) -> tuple[Ticket, ...]:
    """List every ticket that has not ended, and those that ended since a moment (UTC epoch ms), by number.

    The moves tell which those are, so that years of ended tickets are not read. Two days of moves are there.
    """
    going_on = _in_states(conn, _UNFINISHED)
    ended = _ENDED_SINCE.rows(conn, {"since_ms": since_ms})
    return _with_dependencies(conn, sorted((*going_on, *ended), key=lambda row: int(row["short_id"])))


def counts(conn: Connection) -> dict[State, int]:
    """Count the tickets in every state, zeros included."""
    found = {State(row["state"]): row["number"] for row in _COUNTS.rows(conn)}
    return {state: found.get(state, 0) for state in State}


def dependencies(conn: Connection, ticket_id: str) -> tuple[Dependency, ...]:
    """Give what a ticket waits for, and where that is."""
    found = _DEPENDENCIES.rows(conn, {"number": ids.short_id_of(ticket_id)})
    return tuple(Dependency(ids.ticket_id(row["depends_on"]), State(row["state"])) for row in found)


def exchanges(conn: Connection, ticket_id: str) -> tuple[Exchange, ...]:
    """Give the questions asked about a ticket, with the answers there are, oldest first."""
    return tuple(map(to_exchange, _EXCHANGES.rows(conn, {"number": ids.short_id_of(ticket_id)})))


def history(conn: Connection, ticket_id: str) -> tuple[HistoryEntry, ...]:
    """Give every move of a ticket, oldest first."""
    return tuple(map(to_history, _HISTORY.rows(conn, {"number": ids.short_id_of(ticket_id)})))


def _in_states(conn: Connection, states: Collection[State]) -> list[dict[str, Any]]:
    """Ask for one state at a time: that statement is built once, which one for any number of them is not."""
    wanted = frozenset(states)
    found = [row for state in wanted for row in _IN_STATE[state].rows(conn)]
    return found if len(wanted) == 1 else sorted(found, key=lambda row: int(row["short_id"]))


def _with_dependencies(conn: Connection, rows: Sequence[Mapping[str, Any]]) -> tuple[Ticket, ...]:
    needs: dict[int, list[int]] = {}
    for row in _needs_of(conn, [row["short_id"] for row in rows]):
        needs.setdefault(row["ticket"], []).append(row["depends_on"])
    return tuple(to_ticket(row, needs.get(row["short_id"], ())) for row in rows)


def _needs_of(conn: Connection, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Ask for all of them at once: by a statement that is built already, where they are few."""
    if not numbers:
        return []
    for most, few in _NEEDS_OF_FEW:
        if len(numbers) <= most:
            filled = (*numbers, *[numbers[0]] * (most - len(numbers)))
            return few.rows(conn, {f"number_{n}": number for n, number in enumerate(filled)})
    return named(conn.execute(_NEEDS, {"numbers": numbers}))
