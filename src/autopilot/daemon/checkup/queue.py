"""What the queued tickets ask for that the configuration does not give. Must not change anything."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from autopilot.daemon import demand
from autopilot.daemon.checkup.check import ok, warning
from autopilot.daemon.store import queries_tickets
from autopilot.daemon.store.engine import open_store
from autopilot.schemas.machine import State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from autopilot.daemon.checkup.scene import Scene
    from autopilot.schemas.checkup import Check
    from autopilot.schemas.ticket import Ticket

_SHOWN = 5


def waiting(scene: Scene) -> tuple[Ticket, ...]:
    """Give the tickets that wait; none without a queue.

    Raises:
        AutopilotError: the queue cannot be read.
    """
    if not scene.paths.database.exists():
        return ()
    store = open_store(scene.paths.database, scene.clock)
    with closing(store), store.read() as conn:
        return tuple(queries_tickets.tickets(conn, states=[State.QUEUED, State.PARKED]))


def agents_named(scene: Scene, tickets: Sequence[Ticket]) -> Mapping[str, tuple[str, ...]]:
    """Name the agents that tickets bring along, each with its tickets."""
    named: dict[str, tuple[str, ...]] = {}
    for ticket in tickets:
        name = demand.agent_of(ticket, scene.settings)
        named[name] = (*named.get(name, ()), ticket.id)
    return named


def demands(scene: Scene, tickets: Sequence[Ticket]) -> Iterator[Check]:
    """Name each ticket that waits for an agent or a repository that is not there."""
    lacking = 0
    for agent, ids in agents_named(scene, tickets).items():
        if agent not in scene.settings.agents:
            lacking += 1
            what = f"{told(ids)} would run with {agent!r}, and no such agent is configured"
            yield warning(f"agent {agent}", what, f"add [agents.{agent}], or cancel {ids[0]}")
    repos = {repo.name for repo in scene.settings.repos}
    for repo in dict.fromkeys(ticket.repo for ticket in tickets if ticket.repo not in repos):
        lacking += 1
        ids = tuple(ticket.id for ticket in tickets if ticket.repo == repo)
        what = f"{told(ids)} belong to {repo!r}, and no such repository is configured"
        yield warning(f"repository {repo}", what, f"add a [[repo]] of that name, or cancel {ids[0]}")
    if not lacking:
        queued = sum(ticket.state is State.QUEUED for ticket in tickets)
        yield ok("tickets", f"{queued} queued, {len(tickets) - queued} wait on you")


def told(ids: Sequence[str]) -> str:
    """Name some tickets, and how many more there are."""
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return ", ".join(ids[:_SHOWN]) + more
