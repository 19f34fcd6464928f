"""Is everything in order? Asked after every crash and acceptance test, with all faults in one message."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from itertools import chain
from pathlib import Path

from sqlalchemy import Connection, select

from autopilot.daemon.store import mapping, queries_host, queries_runs, queries_tickets
from autopilot.daemon.store.engine import Store
from autopilot.daemon.store.prepared import named
from autopilot.daemon.store.rows import Attempt
from autopilot.daemon.store.tables import ATTEMPTS
from autopilot.schemas.ids import BRANCH_PREFIX
from autopilot.schemas.machine import State, target
from autopilot.schemas.ticket import Ticket
from tests.support import records

_OURS = re.compile(rf"{re.escape(BRANCH_PREFIX)}(t-[0-9]+)(?:-|$)")


def assert_in_order(
    store: Store,
    *,
    is_alive: Callable[[int, int], bool] | None = None,
    live_runs: Collection[str] | None = None,
    worktrees: Path | None = None,
    pull_request_branches: Collection[str] = (),
) -> None:
    """Assert every invariant of the house that can be seen from outside the daemon.

    Args:
        store: the store; the daemon may be down.
        is_alive: tells whether (pid, process start in epoch ms) lives; then every running ticket must have a
            live runner.
        live_runs: the runs whose processes were found on the machine; each must be of a running ticket.
        worktrees: the folder of worktrees; each must be of a known ticket.
        pull_request_branches: head branches of every pull request at the forge, one entry per pull request.
    """
    with store.read() as conn:
        tickets = queries_tickets.tickets(conn)
        attempts = [mapping.to_attempt(row) for row in named(conn.execute(select(ATTEMPTS)))]
        ledger = records.ledger(conn)
        faults = [
            *chain.from_iterable(_history_faults(conn, ticket) for ticket in tickets),
            *_run_faults(tickets, attempts, is_alive),
            *_money_faults(tickets, attempts, ledger),
            *_probe_faults(conn, attempts),
            *_publication_faults(conn, tickets, pull_request_branches),
            *_leftovers(tickets, attempts, live_runs, worktrees),
        ]
    assert not faults, "not in order:\n  " + "\n  ".join(faults)


def ticket_of(branch: str) -> str:
    """Name the ticket that a branch of ours is of, whatever its title; another branch is its own."""
    found = _OURS.match(branch)
    return branch if found is None else found[1].upper()


def _history_faults(conn: Connection, ticket: Ticket) -> Iterator[str]:
    state: State | None = None
    for entry in queries_tickets.history(conn, ticket.id):
        if entry.from_state != state:
            yield f"{ticket.id}: history jumps from {state} to {entry.from_state}"
        if target(entry.from_state, entry.trigger) != entry.to_state:
            yield f"{ticket.id}: {entry.from_state} --{entry.trigger}--> {entry.to_state} is no move"
        state = entry.to_state
    if state != ticket.state:
        yield f"{ticket.id}: history ends at {state}, the ticket is {ticket.state}"


def _run_faults(
    tickets: Collection[Ticket], attempts: Collection[Attempt], is_alive: Callable[[int, int], bool] | None
) -> Iterator[str]:
    live = {attempt.run_id: attempt for attempt in attempts if attempt.state == "running"}
    for ticket in tickets:
        if ticket.state is State.RUNNING:
            attempt = live.pop(ticket.run_id or "", None)
            if attempt is None or attempt.claim_token != ticket.claim_token:
                yield f"{ticket.id}: running without a live attempt of its claim"
            elif is_alive is not None and (attempt.process is None or not is_alive(*attempt.process)):
                yield f"{ticket.id}: running without a live runner"
        mine = [attempt for attempt in attempts if attempt.ticket_id == ticket.id]
        if ticket.sessions != len(mine) or ticket.attempts > ticket.sessions:
            yield f"{ticket.id}: {ticket.sessions} sessions, {ticket.attempts} attempts, {len(mine)} rows"
    yield from (f"{run_id}: a live attempt without a running ticket" for run_id in live)


def _money_faults(
    tickets: Collection[Ticket], attempts: Collection[Attempt], ledger: Collection[records.Entry]
) -> Iterator[str]:
    charged: Counter[str] = Counter()
    for entry in ledger:
        if entry.kind != "reserved":
            charged[entry.run_id] += entry.micro_usd
    for attempt in attempts:
        kinds = Counter(entry.kind for entry in ledger if entry.run_id == attempt.run_id)
        expected = (1, 1 if attempt.state == "finished" else 0)
        if (kinds["reserved"], kinds["settled"]) != expected:
            yield f"{attempt.run_id} ({attempt.state}): ledger entries {dict(kinds)}"
        if attempt.state == "finished" and charged[attempt.run_id] != attempt.spent_micro_usd:
            yield f"{attempt.run_id}: charged {charged[attempt.run_id]}, used {attempt.spent_micro_usd}"
    for ticket in tickets:
        mine = sum(charged[attempt.run_id] for attempt in attempts if attempt.ticket_id == ticket.id)
        if mine != ticket.spent_micro_usd:
            yield f"{ticket.id}: ledger says {mine}, the ticket {ticket.spent_micro_usd}"


def _probe_faults(conn: Connection, attempts: Collection[Attempt]) -> Iterator[str]:
    live = {attempt.run_id for attempt in attempts if attempt.state == "running"}
    brakes = [(row.scope, row.probe_run_id) for row in queries_host.breakers(conn)]
    brakes += [(f"window of {row.agent}", row.probe_run_id) for row in queries_host.agent_windows(conn)]
    for name, run_id in brakes:
        if run_id is not None and run_id not in live:
            yield f"{name}: waits for the probe {run_id}, which does not run"


def _publication_faults(
    conn: Connection, tickets: Collection[Ticket], branches: Collection[str]
) -> Iterator[str]:
    publishing = {live.ticket.id for live in queries_runs.publishing(conn)}
    for ticket in tickets:
        if (ticket.state is State.PUBLISHING) != (ticket.id in publishing):
            yield f"{ticket.id}: {ticket.state}, live publication: {ticket.id in publishing}"
        rows = queries_runs.publications_of(conn, ticket.id)
        urls = {row.pr_url for row in rows if row.pr_url is not None}
        if len(urls) > 1:
            yield f"{ticket.id}: more than one pull request: {sorted(urls)}"
        if ticket.state is State.PUBLISHED and "done" not in {row.state for row in rows}:
            yield f"{ticket.id}: published without a publication that is done"
    doubled = [name for name, number in Counter(map(ticket_of, branches)).items() if number > 1]
    yield from (f"{name}: more than one pull request at the forge" for name in doubled)


def _leftovers(
    tickets: Collection[Ticket],
    attempts: Collection[Attempt],
    live_runs: Collection[str] | None,
    worktrees: Path | None,
) -> Iterator[str]:
    running = {attempt.run_id for attempt in attempts if attempt.state == "running"}
    yield from (f"{run_id}: a runner without a running ticket" for run_id in set(live_runs or ()) - running)
    if worktrees is not None and worktrees.is_dir():
        known = {ticket.id for ticket in tickets}
        names = [path.name for path in worktrees.iterdir() if not path.name.startswith(".")]
        strays = sorted(name for name in names if name not in known)
        yield from (f"worktree {name}: without a ticket" for name in strays)
