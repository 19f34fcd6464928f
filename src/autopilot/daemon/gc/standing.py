"""Whether what a ticket left on the disk may go, by where the ticket is. Reads the store only.

Must not be asked once and believed later: it is asked again in the transaction that takes the thing away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from autopilot.daemon.store import queries_runs, queries_tickets
from autopilot.schemas.errors import TicketError
from autopilot.schemas.machine import State
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from autopilot.schemas.ticket import Ticket

DAY_MS = 24 * 3600 * MS_PER_S


@dataclass(frozen=True, slots=True)
class Standing:
    """May it go, and why."""

    may_go: bool
    why: str


def find(conn: Connection, name: str) -> Ticket | None:
    """Find the ticket that a folder's name means; only the canonical form is one of ours."""
    try:
        ticket = queries_tickets.ticket(conn, name)
    except TicketError:
        return None
    return ticket if ticket is not None and ticket.id == name else None


def worktree_of(conn: Connection, ticket: Ticket, *, now_ms: int, keep_days: int) -> Standing:
    """Say whether a ticket's worktree may go: with its pull request open at once, else after a while."""
    if ticket.state is State.PUBLISHED and _has_pull_request(conn, ticket):
        return Standing(may_go=True, why="its pull request is open")
    return run_of(ticket, now_ms=now_ms, keep_days=keep_days)


def run_of(ticket: Ticket, *, now_ms: int, keep_days: int) -> Standing:
    """Say whether the repositories of a ticket's runs may go: only of a final ticket, after a while."""
    match ticket.state:
        case State.RUNNING | State.COMMITTED | State.PUBLISHING:
            return Standing(may_go=False, why=f"the ticket is {ticket.state}")
        case State.QUEUED:
            return Standing(may_go=False, why="the ticket is queued and goes on from it")
        case State.PARKED:
            return Standing(may_go=False, why="a person may look at it and resume the ticket")
        case State.PUBLISHED | State.FAILED | State.CANCELLED:
            if now_ms - ticket.updated_ms < keep_days * DAY_MS:
                return Standing(may_go=False, why=f"{ticket.state}; kept for {keep_days} days")
            return Standing(may_go=True, why=f"{ticket.state} more than {keep_days} days ago")
        case _:
            assert_never(ticket.state)


def _has_pull_request(conn: Connection, ticket: Ticket) -> bool:
    found = queries_runs.publications_of(conn, ticket.id)
    return bool(found) and found[-1].pr_url is not None
