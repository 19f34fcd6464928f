"""What a person reviews in the morning: the open drafts, and the text and exact diff of each.

Must not touch the person's checkout: the diff comes from the run's own repository.
"""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from autopilot.config.git import FOREIGN_MEMORY_BYTES, Git
from autopilot.config.paths import JUDGE_REPOSITORY
from autopilot.daemon import remains
from autopilot.daemon.store import queries_runs, queries_tickets
from autopilot.daemon.store.mapping import unknown
from autopilot.publish.forges.local import read_records
from autopilot.schemas.errors import ConfigError, RefusedError
from autopilot.schemas.machine import State

if TYPE_CHECKING:
    from autopilot.daemon.desk import Desk
    from autopilot.daemon.store.rows import Publication

MAX_DIFF_BYTES = 2_000_000


def drafts(desk: Desk) -> dict[str, Any]:
    """Give every published ticket whose pull request is not known to be closed or merged."""
    with desk.store.read() as conn:
        published = queries_tickets.tickets(conn, states=[State.PUBLISHED])
        rows = [(ticket, _latest(queries_runs.publications_of(conn, ticket.id))) for ticket in published]
    return {
        "drafts": [
            {"ticket": ticket.model_dump(mode="json"), "publication": asdict(publication)}
            for ticket, publication in rows
            if publication is not None and publication.pr_state in {None, "open"}
        ]
    }


def one(desk: Desk, ticket_id: str) -> dict[str, Any]:
    """Give one draft with its text, its verification and its diff.

    Raises:
        TicketError: no such ticket.
        RefusedError: the ticket has nothing to review.
    """
    with desk.store.read() as conn:
        ticket = queries_tickets.ticket(conn, ticket_id)
        if ticket is None:
            raise unknown(ticket_id)
        publication = _latest(queries_runs.publications_of(conn, ticket_id))
        gates = queries_runs.gates_of(conn, ticket_id, head=ticket.head)
    if publication is None:
        what = f"{ticket_id} is {ticket.state}: no commit has been published"
        raise RefusedError("nothing-to-review", what, hint=f"see: autopilot why {ticket_id}")
    return {
        "ticket": ticket.model_dump(mode="json"),
        "publication": asdict(publication),
        "gates": [record.model_dump(mode="json") for record in gates],
        "body": _body(desk, publication),
        "fetch": _fetch(desk, publication),
        "diff": _diff(desk, publication),
    }


def _latest(publications: tuple[Publication, ...]) -> Publication | None:
    return publications[-1] if publications else None


def _body(desk: Desk, publication: Publication) -> str:
    """Give the text of a draft that the embedded forge keeps; another forge shows its own."""
    records = read_records(desk.paths.local_forge / publication.repo)
    texts = [record.body for record in records if record.branch == publication.branch]
    return texts[-1] if texts else ""


def _fetch(desk: Desk, publication: Publication) -> str:
    """Give the command that brings a pushed branch into a checkout; nothing where it was not pushed."""
    try:
        remote = desk.settings.repo(publication.repo).push_to
    except ConfigError:
        return ""
    return f"git fetch {shlex.quote(remote)} {publication.branch}" if publication.pushed else ""


def _diff(desk: Desk, publication: Publication) -> str:
    judge = desk.paths.run_dir(publication.run_id) / JUDGE_REPOSITORY
    if not judge.is_dir():
        return remains.saved_patch(desk.paths, publication.ticket_id, publication.run_id)
    git = Git(desk.clock, desk.paths.state, memory_bytes=FOREIGN_MEMORY_BYTES)
    span = f"{publication.base_sha}..{publication.head}"
    options = ("--no-color", "--no-ext-diff", "--no-textconv", "--find-renames")
    whole = git.run("diff", *options, span, "--", git_dir=judge)
    cut = whole[:MAX_DIFF_BYTES].decode("utf-8", errors="replace")
    return cut if len(whole) <= MAX_DIFF_BYTES else f"{cut}\n… cut at {MAX_DIFF_BYTES} bytes\n"
