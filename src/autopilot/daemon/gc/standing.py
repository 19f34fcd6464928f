"""Whether what a ticket left on the disk may go, by where the ticket is. Reads the store only.

Must not be asked once and believed later: it is asked again in the transaction that takes the thing away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from autopilot.config import procinfo
from autopilot.daemon.store import queries_runs, queries_tickets, steps
from autopilot.schemas.errors import TicketError
from autopilot.schemas.ids import canonical
from autopilot.schemas.machine import State
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from autopilot.daemon.desk import Desk
    from autopilot.schemas.ticket import Ticket

DAY_MS = 24 * 3600 * MS_PER_S


@dataclass(frozen=True, slots=True)
class Standing:
    """May it go, and why."""

    may_go: bool
    why: str
    needs_leave: bool = True
    """False where its pull request is open: that goes without the operator's switch."""


def is_name(name: str) -> bool:
    """Tell whether a name is a ticket's, in the one form that we give to folders."""
    try:
        return canonical(name) == name
    except TicketError:
        return False


def find(conn: Connection, name: str) -> Ticket | None:
    """Find the ticket that a folder's name means; only the canonical form is one of ours."""
    return queries_tickets.ticket(conn, name) if is_name(name) else None


def now_ms_for(desk: Desk, conn: Connection, days: int) -> int:
    """Give the moment (UTC epoch ms) by which to tell what is really so many days old."""
    return steps.cutoff_ms(conn, desk.clock, days * DAY_MS) + days * DAY_MS


def worktree_of(conn: Connection, ticket: Ticket, *, now_ms: int, keep_days: int) -> Standing:
    """Say whether a ticket's worktree may go: with its pull request open at once, else after a while."""
    if ticket.state is State.PUBLISHED and _has_pull_request(conn, ticket):
        return Standing(may_go=True, why="its pull request is open", needs_leave=False)
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


def of_nobody(run_dir: Path, *, now_ms: int, keep_days: int) -> Standing:
    """Say whether what a run of a ticket that the queue does not know left may go, as after a restore."""
    verdict = of_nobody_by_age(run_dir, now_ms=now_ms, keep_days=keep_days)
    if verdict.may_go and has_processes(run_dir):
        return Standing(may_go=False, why="a process of that run is alive")
    return verdict


def has_processes(run_dir: Path) -> bool:
    """Tell whether a process of a run lives; looks at every process, so never inside a transaction."""
    return any(run_dir.name in (procinfo.marks_of(pid) or ()) for pid in procinfo.all_pids())


def of_nobody_by_age(run_dir: Path, *, now_ms: int, keep_days: int) -> Standing:
    """Say the same as far as the folder itself tells; no run that the queue does not know is ever started."""
    try:
        age_days = (now_ms - run_dir.lstat().st_mtime * MS_PER_S) / DAY_MS
    except OSError:
        age_days = 0.0
    if age_days < keep_days:
        return Standing(may_go=False, why=f"the queue does not know it; kept for {keep_days} days")
    return Standing(may_go=True, why=f"the queue does not know it, and nothing changed for {keep_days} days")


def _has_pull_request(conn: Connection, ticket: Ticket) -> bool:
    found = queries_runs.publications_of(conn, ticket.id)
    return bool(found) and found[-1].pr_url is not None
