"""Writes a new ticket. Only `transitions.enqueue` may use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, insert, select, update

from autopilot.daemon.store.mapping import to_ticket
from autopilot.daemon.store.moves import record
from autopilot.daemon.store.prepared import Prepared
from autopilot.daemon.store.queries_tickets import ticket as find_ticket
from autopilot.daemon.store.rows import Enqueued
from autopilot.daemon.store.tables import DEPENDENCIES, TICKETS
from autopilot.schemas.errors import InvariantError, TicketError
from autopilot.schemas.events import Event
from autopilot.schemas.ids import branch_name, short_id_of, ticket_id
from autopilot.schemas.machine import State, Trigger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autopilot.daemon.store.unit import Unit
    from autopilot.schemas.ticket import TicketDraft

_ADD = Prepared(lambda: insert(TICKETS).returning(TICKETS.c.short_id))
_NAME = Prepared(
    lambda: update(TICKETS).where(TICKETS.c.short_id == bindparam("seen_short_id")).returning(*TICKETS.c)
)

_NEED = Prepared(lambda: insert(DEPENDENCIES))
_BY_SOURCE = Prepared(
    lambda: select(TICKETS.c.short_id).where(TICKETS.c.source_key == bindparam("source_key"))
)


def insert_ticket(unit: Unit, draft: TicketDraft, *, repo: str, by: str) -> Enqueued:
    """Insert the ticket with its number, branch and dependencies; or find it by its source key."""
    known = _by_source(unit, draft.source_key)
    if known is not None:
        return known
    needs = _numbers(unit, draft.depends_on)
    values = {
        "state": State.QUEUED.value,
        "title": draft.title,
        "body": draft.body,
        "acceptance": list(draft.acceptance),
        "repo": repo,
        "base": draft.base,
        "priority": draft.priority,
        "agent": draft.agent,
        "source_key": draft.source_key,
        "branch": "",
        "created_ms": unit.now_ms,
        "updated_ms": unit.now_ms,
        "not_before_ms": draft.not_before_ms,
    }
    short_id: int = _ADD.scalar(unit.conn, values)
    branch = branch_name(ticket_id(short_id), draft.title)  # the number is known only now
    (row,) = _NAME.rows(unit.conn, {"branch": branch, "seen_short_id": short_id})
    _NEED.run_many(unit.conn, [{"ticket": short_id, "depends_on": need} for need in needs])
    record(unit, short_id, Trigger.ENQUEUE, (None, State.QUEUED), by=by, reason=_whose(draft))
    unit.note(Event.TICKET_ENQUEUED, ticket=ticket_id(short_id), repo=repo)
    return Enqueued(to_ticket(row, needs), is_new=True)


def _whose(draft: TicketDraft) -> str:
    """Say for the history whose words it is made of, where they are not the operator's own."""
    origin = draft.origin
    return "" if origin is None else f"written by {origin.author} ({origin.association})"


def _by_source(unit: Unit, source_key: str | None) -> Enqueued | None:
    if source_key is None:
        return None
    short_id: int | None = _BY_SOURCE.scalar(unit.conn, {"source_key": source_key})
    if short_id is None:
        return None
    found = find_ticket(unit.conn, ticket_id(short_id))
    if found is None:
        raise InvariantError("ticket-lost", f"no ticket {short_id} for the source key {source_key!r}")
    return Enqueued(found, is_new=False)


def _numbers(unit: Unit, names: Sequence[str]) -> list[int]:
    """Read what the ticket waits for; all of it must exist already, so that no circle can form."""
    if not names:
        return []
    numbers = sorted({short_id_of(name) for name in names})
    found = unit.conn.execute(select(TICKETS.c.short_id).where(TICKETS.c.short_id.in_(numbers))).scalars()
    missing = sorted(set(numbers) - set(found))
    if missing:
        listed = ", ".join(ticket_id(number) for number in missing)
        what = f"depends_on names tickets that are not there: {listed}"
        raise TicketError("dependency-unknown", what, hint="`autopilot list` shows them")
    return numbers
