"""What is known about runs and publications. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from sqlalchemy import bindparam, func, literal_column, or_, select

from autopilot.daemon.store.mapping import to_attempt, to_publication
from autopilot.daemon.store.prepared import Prepared
from autopilot.daemon.store.queries_tickets import ticket, tickets
from autopilot.daemon.store.rows import LivePublication, LiveRun
from autopilot.daemon.store.tables import ATTEMPTS, IS_LIVE_RUN, TICKETS
from autopilot.daemon.store.tables_host import GATES, IS_LIVE_PUBLICATION, IS_OPEN_DRAFT, PUBLICATIONS
from autopilot.schemas.gate import GateRecord
from autopilot.schemas.ids import short_id_of
from autopilot.schemas.machine import FINAL_STATES, State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

    from autopilot.daemon.store.rows import Attempt, Publication
    from autopilot.schemas.ticket import Ticket

# The order is a sum, or SQLite reads every run ever made by the index of starts, to have nothing to sort.
_LIVE_RUNS = Prepared(
    lambda: select(ATTEMPTS).where(IS_LIVE_RUN).order_by(ATTEMPTS.c.started_ms + literal_column("0"))
)
_LIVE_PUBLICATIONS = Prepared(
    lambda: select(PUBLICATIONS).where(IS_LIVE_PUBLICATION).order_by(PUBLICATIONS.c.started_ms)
)
_OPEN_DRAFTS = Prepared(
    lambda: select(func.count(PUBLICATIONS.c.ticket.distinct())).where(
        PUBLICATIONS.c.repo == bindparam("name"), IS_OPEN_DRAFT
    )
)
# From the few open drafts to their tickets: an index of the states would lead through all that ever failed.
_STRAY_DRAFTS = Prepared(
    lambda: (
        select(PUBLICATIONS)
        .join(TICKETS, TICKETS.c.short_id == PUBLICATIONS.c.ticket)
        .where(
            IS_OPEN_DRAFT,
            or_(
                *(
                    func.coalesce(TICKETS.c.state, "") == ended.value
                    for ended in (State.CANCELLED, State.FAILED)
                )
            ),
        )
        .order_by(PUBLICATIONS.c.created_ms, PUBLICATIONS.c.id)
    )
)
_PUBLICATIONS_OF = Prepared(
    lambda: (
        select(PUBLICATIONS)
        .where(PUBLICATIONS.c.ticket == bindparam("number"))
        .order_by(PUBLICATIONS.c.created_ms, PUBLICATIONS.c.id)
    )
)
_DRAFTS_OF = Prepared(
    lambda: (
        select(PUBLICATIONS)
        .where(PUBLICATIONS.c.repo == bindparam("name"), IS_OPEN_DRAFT)
        .order_by(PUBLICATIONS.c.created_ms, PUBLICATIONS.c.id)
    )
)
_REPOS_WITH_DRAFTS = Prepared(
    lambda: select(PUBLICATIONS.c.repo).where(IS_OPEN_DRAFT).distinct().order_by(PUBLICATIONS.c.repo)
)
_ATTEMPTS_OF = Prepared(
    lambda: select(ATTEMPTS).where(ATTEMPTS.c.ticket == bindparam("number")).order_by(ATTEMPTS.c.session)
)
_GATES_OF = Prepared(
    lambda: select(GATES.c.record).where(GATES.c.ticket == bindparam("number")).order_by(GATES.c.id)
)
_GATES_OF_HEAD = Prepared(
    lambda: (
        select(GATES.c.record)
        .where(GATES.c.ticket == bindparam("number"), GATES.c.head == bindparam("head"))
        .order_by(GATES.c.id)
    )
)
_ATTEMPT = Prepared(lambda: select(ATTEMPTS).where(ATTEMPTS.c.run_id == bindparam("name")))
_PUBLICATION = Prepared(lambda: select(PUBLICATIONS).where(PUBLICATIONS.c.id == bindparam("name")))


def running(conn: Connection) -> tuple[LiveRun, ...]:
    """Give every running ticket with its attempt, the first started first."""
    attempts = [to_attempt(row) for row in _LIVE_RUNS.rows(conn)]
    by_id = {ticket.id: ticket for ticket in tickets(conn, states=(State.RUNNING,))} if attempts else {}
    return tuple(LiveRun(by_id[one.ticket_id], one) for one in attempts if one.ticket_id in by_id)


def publishing(conn: Connection) -> tuple[LivePublication, ...]:
    """Give every publishing ticket with its publication, the first started first."""
    found = [to_publication(row) for row in _LIVE_PUBLICATIONS.rows(conn)]
    by_id = {ticket.id: ticket for ticket in tickets(conn, states=(State.PUBLISHING,))} if found else {}
    return tuple(LivePublication(by_id[one.ticket_id], one) for one in found if one.ticket_id in by_id)


def running_singly(conn: Connection) -> tuple[LiveRun, ...]:
    """Give what `running` gives, but for tickets that cannot be read."""
    attempts = [to_attempt(row) for row in _LIVE_RUNS.rows(conn)]
    found = ((_readable(conn, one.ticket_id, State.RUNNING), one) for one in attempts)
    return tuple(LiveRun(seen, one) for seen, one in found if seen is not None)


def publishing_singly(conn: Connection) -> tuple[LivePublication, ...]:
    """Give what `publishing` gives, but for tickets that cannot be read."""
    publications = [to_publication(row) for row in _LIVE_PUBLICATIONS.rows(conn)]
    found = ((_readable(conn, one.ticket_id, State.PUBLISHING), one) for one in publications)
    return tuple(LivePublication(seen, one) for seen, one in found if seen is not None)


def _readable(conn: Connection, ticket_id: str, state: State) -> Ticket | None:
    try:
        found = ticket(conn, ticket_id)
    except (ValueError, TypeError):
        return None  # told by who asked for all of them
    return found if found is not None and found.state is state else None


def attempt(conn: Connection, run_id: str) -> Attempt | None:
    """Find one attempt by its run."""
    row = _ATTEMPT.row(conn, {"name": run_id})
    return None if row is None else to_attempt(row)


def ended_before(conn: Connection, run_ids: Iterable[str], before_ms: int) -> frozenset[str]:
    """Choose the runs that ended, with their tickets, before a moment (UTC epoch ms)."""
    statement = (
        select(ATTEMPTS.c.run_id)
        .join(TICKETS, TICKETS.c.short_id == ATTEMPTS.c.ticket)
        .where(
            ATTEMPTS.c.run_id.in_(list(run_ids)),
            ATTEMPTS.c.finished_ms < before_ms,
            TICKETS.c.updated_ms < before_ms,
            TICKETS.c.state.in_(sorted(state.value for state in FINAL_STATES)),
        )
    )
    return frozenset(conn.execute(statement).scalars())


def attempts_of(conn: Connection, ticket_id: str) -> tuple[Attempt, ...]:
    """Give a ticket's attempts, oldest first."""
    return tuple(map(to_attempt, _ATTEMPTS_OF.rows(conn, {"number": short_id_of(ticket_id)})))


def gates_of(conn: Connection, ticket_id: str, *, head: str | None = None) -> tuple[GateRecord, ...]:
    """Give the gate ledger of a ticket, oldest first; with `head`, of that commit only."""
    mine: dict[str, int | str] = {"number": short_id_of(ticket_id)}
    found = _GATES_OF.rows(conn, mine) if head is None else _GATES_OF_HEAD.rows(conn, {**mine, "head": head})
    return tuple(GateRecord.model_validate(row["record"]) for row in found)


def publication(conn: Connection, publication_id: str) -> Publication | None:
    """Find one publication."""
    row = _PUBLICATION.row(conn, {"name": publication_id})
    return None if row is None else to_publication(row)


def publications_of(conn: Connection, ticket_id: str) -> tuple[Publication, ...]:
    """Give a ticket's publications, one per commit, oldest first."""
    return tuple(map(to_publication, _PUBLICATIONS_OF.rows(conn, {"number": short_id_of(ticket_id)})))


def fate_of(conn: Connection, ticket_id: str) -> Literal["closed", "merged"] | None:
    """Say what a person has done with a ticket's pull request; None while there is none, or it waits."""
    found = publications_of(conn, ticket_id)
    state = found[-1].pr_state if found else None
    return None if state == "open" else state


def open_drafts(conn: Connection, repo: str) -> int:
    """Count our drafts of a repository that nobody has merged or closed, as far as we know.

    A ticket has one branch and one pull request, however many commits of it were delivered.
    """
    number: int = _OPEN_DRAFTS.scalar(conn, {"name": repo})
    return number


def drafts_of(conn: Connection, repo: str) -> tuple[Publication, ...]:
    """Give the publications that `open_drafts` counts, oldest first."""
    return tuple(map(to_publication, _DRAFTS_OF.rows(conn, {"name": repo})))


def stray_drafts(conn: Connection) -> tuple[tuple[Ticket, Publication], ...]:
    """Give open drafts whose ticket was cancelled or failed: nobody else would tell of them."""
    found = [to_publication(row) for row in _STRAY_DRAFTS.rows(conn)]
    owners = {name: ticket(conn, name) for name in {one.ticket_id for one in found}}
    return tuple((owner, one) for one in found if (owner := owners[one.ticket_id]) is not None)


def repos_with_drafts(conn: Connection) -> tuple[str, ...]:
    """Name the repositories that have an open draft of ours."""
    return tuple(row["repo"] for row in _REPOS_WITH_DRAFTS.rows(conn))
