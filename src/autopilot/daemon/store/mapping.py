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
    from collections.abc import Iterable, Mapping

    Named = Mapping[str, Any]


def unknown(ticket: str) -> TicketError:
    """Build the error for a ticket that is not there."""
    return TicketError("ticket-unknown", f"there is no ticket {ticket}", hint="see: autopilot list")


def to_ticket(row: Named, depends_on: Iterable[int] = ()) -> Ticket:
    """Read a row of `tickets`."""
    values: dict[str, Any] = dict(row)
    waiting = values.pop("waiting_for")
    return Ticket(
        id=ticket_id(values["short_id"]),
        state=State(values.pop("state")),
        acceptance=tuple(values.pop("acceptance")),
        depends_on=tuple(ticket_id(number) for number in depends_on),
        waiting_for=None if waiting is None else WaitingFor(waiting),
        **values,
    )


def to_attempt(row: Named) -> Attempt:
    """Read a row of `attempts`."""
    values = _named(row)
    ended_by = values.pop("ended_by")
    return Attempt(ended_by=None if ended_by is None else Trigger(ended_by), **values)


def to_publication(row: Named) -> Publication:
    """Read a row of `publications`."""
    return Publication(**_named(row))


def to_history(row: Named) -> HistoryEntry:
    """Read a row of `history`."""
    values = _named(row)
    seen = values.pop("from_state")
    return HistoryEntry(
        trigger=Trigger(values.pop("trigger")),
        from_state=None if seen is None else State(seen),
        to_state=State(values.pop("to_state")),
        **values,
    )


def to_breaker(row: Named) -> Breaker:
    """Read a row of `breakers`."""
    return Breaker(**row)


def to_window(row: Named) -> AgentWindow:
    """Read a row of `agent_windows`."""
    return AgentWindow(**row)


def to_switch(row: Named) -> Switch:
    """Read the row of `switch`."""
    values = dict(row)
    values.pop("id")
    return Switch(**values)


def to_hold(row: Named) -> Hold:
    """Read a row of `holds`."""
    return Hold(**row)


def to_exchange(row: Named) -> Exchange:
    """Read a row of `exchanges`."""
    return Exchange(**{name: row[name] for name in ("question", "asked_ms", "answer", "answered_ms")})


def _named(row: Named) -> dict[str, Any]:
    """Give the columns with the ticket's number turned into its id."""
    values = dict(row)
    return values | {"ticket_id": ticket_id(values.pop("ticket"))}
