"""What must hold of publications, of what is at the forge, and of what a publisher has said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from sqlite3 import Row
from typing import TYPE_CHECKING

from autopilot.schemas.publication import PublishOutcome
from tests.support.in_order import ticket_of

if TYPE_CHECKING:
    from tests.simulation.world import World

Ask = Callable[..., list[Row]]
_DONE = {PublishOutcome.PR_OPENED, PublishOutcome.PUSHED_AWAITING_PR}


def faults(world: World, ask: Ask, tickets: Sequence[Row]) -> Iterator[str]:
    """A ticket has at most one pull request, and no push has taken away what it must not."""
    rows = ask("SELECT ticket, state, idempotency_key FROM publications")
    live = Counter(row["ticket"] for row in rows if row["state"] == "running")
    for ticket in tickets:
        number = ticket["short_id"]
        if live[number] != (ticket["state"] == "publishing"):
            yield f"T-{number} is {ticket['state']}, live publications: {live[number]}"
    if len({row["idempotency_key"] for row in rows}) != len(rows):
        yield "two publications under one key"
    for name, remote in world.forge.remotes.items():
        shown = [pull for pull in remote.pulls if not pull.is_deleted]  # a person may delete one
        pulls = Counter(ticket_of(pull.branch) for pull in shown)
        yield from (f"{name}: {many} pull requests of {who}" for who, many in pulls.items() if many > 1)
        yield from (f"{name}: {what}" for what in remote.written_over)


def delivered(world: World, ask: Ask, ticket: Row) -> Iterator[str]:
    """A green tick is true: its own publisher says so, its commit arrived, its pull request is there."""
    number, remote = ticket["short_id"], world.forge.remote(ticket["repo"])
    if (ticket["branch"], ticket["head"]) not in remote.pushed:
        yield f"T-{number}: published, but {ticket['head']} never arrived"
    if ticket["pr_url"] and not any(pull.branch == ticket["branch"] for pull in remote.pulls):
        yield f"T-{number}: published, but there is no pull request"
    said = {(name, fence) for name, fence, verdict in world.verdicts if verdict.outcome in _DONE}
    for row in ask("SELECT * FROM publications WHERE ticket = ? AND run_id = ?", number, ticket["run_id"]):
        if (row["id"], row["fence"]) not in said:
            yield f"T-{number}: published, but no publisher of fence {row['fence']} says so"


def refused(world: World, move: Row, ticket: Row) -> Iterator[str]:
    """A person is asked to act by the publisher of now alone."""
    said = {
        fence
        for name, fence, verdict in world.verdicts
        if (name, verdict.message) == (move["run_id"], move["reason"])
    }
    if said and ticket["fence"] not in said:
        yield f"T-{move['ticket']}: parked under {ticket['fence']} by a verdict of {said}: {move['reason']}"
