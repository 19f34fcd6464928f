"""Rows to values and back. Must not run statements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.daemon.store.rows import (
    AgentWindow,
    Attempt,
    Breaker,
    HistoryEntry,
    Publication,
    Switch,
)
from autopilot.schemas.errors import TicketError
from autopilot.schemas.ids import ticket_id
from autopilot.schemas.machine import State, Trigger, WaitingFor
from autopilot.schemas.ticket import Exchange, Hold, Ticket

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Row


def unknown(ticket: str) -> TicketError:
    """Build the error for a ticket that is not there."""
    return TicketError("ticket-unknown", f"there is no ticket {ticket}", hint="see: autopilot list")


def to_ticket(row: Row[Any], depends_on: Iterable[int] = ()) -> Ticket:
    """Read a row of `tickets`."""
    values: dict[str, Any] = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's public name for it
    waiting = values.pop("waiting_for")
    return Ticket(
        id=ticket_id(values["short_id"]),
        state=State(values.pop("state")),
        acceptance=tuple(values.pop("acceptance")),
        depends_on=tuple(ticket_id(number) for number in depends_on),
        waiting_for=None if waiting is None else WaitingFor(waiting),
        **values,
    )


def to_attempt(row: Row[Any]) -> Attempt:
    """Read a row of `attempts`."""
    values = _named(row)
    ended_by = values.pop("ended_by")
    return Attempt(ended_by=None if ended_by is None else Trigger(ended_by), **values)


def to_publication(row: Row[Any]) -> Publication:
    """Read a row of `publications`."""
    return Publication(**_named(row))


def to_history(row: Row[Any]) -> HistoryEntry:
    """Read a row of `history`."""
    values = _named(row)
    seen = values.pop("from_state")
    return HistoryEntry(
        trigger=Trigger(values.pop("trigger")),
        from_state=None if seen is None else State(seen),
        to_state=State(values.pop("to_state")),
        **values,
    )


def to_breaker(row: Row[Any]) -> Breaker:
    """Read a row of `breakers`."""
    return Breaker(**row._mapping)  # noqa: SLF001 - as above


def to_window(row: Row[Any]) -> AgentWindow:
    """Read a row of `agent_windows`."""
    return AgentWindow(**row._mapping)  # noqa: SLF001 - as above


def to_switch(row: Row[Any]) -> Switch:
    """Read the row of `switch`."""
    values = dict(row._mapping)  # noqa: SLF001 - as above
    values.pop("id")
    return Switch(**values)


def to_hold(row: Row[Any]) -> Hold:
    """Read a row of `holds`."""
    return Hold(**row._mapping)  # noqa: SLF001 - as above


def to_exchange(row: Row[Any]) -> Exchange:
    """Read a row of `exchanges`."""
    return Exchange(
        question=row.question, asked_ms=row.asked_ms, answer=row.answer, answered_ms=row.answered_ms
    )


def _named(row: Row[Any]) -> dict[str, Any]:
    """Give the columns with the ticket's number turned into its id."""
    values = dict(row._mapping)  # noqa: SLF001 - as above
    return values | {"ticket_id": ticket_id(values.pop("ticket"))}
