"""A queue in a temporary folder, and the reports that runs and publishers would hand in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autopilot.config.clock import Clock
from autopilot.daemon import decide, decide_publish, transitions, transitions_publish
from autopilot.daemon.rules import Rules
from autopilot.daemon.store import queries_runs, queries_tickets, writes
from autopilot.daemon.store.engine import Store
from autopilot.daemon.store.rows import Attempt, Claim, LivePublication
from autopilot.schemas.publication import PublishOutcome, PublishVerdict, PullRequest
from autopilot.schemas.run import Outcome, RunResult
from autopilot.schemas.ticket import Ticket, TicketDraft
from tests.support import words
from tests.support.clock import FakeClock
from tests.support.template import open_laid

BASE, HEAD = words.BASE, words.HEAD
AGENT, REPO, USD = words.AGENT, words.REPO, words.USD
gates = words.gates
RULES = Rules(launch_stagger_ms=0)
ROOMY = Rules(
    max_parallel_agents=0, per_repo_parallel=0, cost_ceiling_micro_usd=10_000 * USD, launch_stagger_ms=0
)


def new_store(folder: Path, clock: Clock | None = None, *, is_on: bool = True) -> Store:
    """A store as the daemon opens it, switched on."""
    store = open_laid(folder / "autopilot.db", clock or FakeClock())
    if is_on:
        writes.turn_on(store, by="test", ignore_window=True)
    return store


def add(store: Store, title: str = "Fix the sum", *, repo: str = REPO, **fields: object) -> Ticket:
    """A queued ticket."""
    return transitions.enqueue(
        store, TicketDraft.model_validate({"title": title, **fields}), repo=repo
    ).ticket


def look(store: Store, ticket_id: str) -> Ticket:
    """The ticket as it is now."""
    with store.read() as conn:
        found = queries_tickets.ticket(conn, ticket_id)
    assert found is not None, f"no {ticket_id}"
    return found


def claim(store: Store, ticket: Ticket, *, agent: str = AGENT, rules: Rules = ROOMY) -> Claim:
    """A claim that is granted."""
    claimed = transitions.claim(store, ticket, agent=agent, rules=rules)
    assert isinstance(claimed, Claim), claimed
    return claimed


def result(claimed: Claim, outcome: Outcome = Outcome.COMMITTED, **fields: object) -> RunResult:
    """What the claimed run hands in; a committed one is green, and every one cost a known dollar."""
    named: dict[str, object] = {
        "run_id": claimed.attempt.run_id,
        "ticket_id": claimed.ticket.id,
        "attempt": claimed.attempt.no,
        "fence": claimed.attempt.fence,
        "branch": claimed.ticket.branch,
    }
    return words.result(outcome, **named | fields)


def end(
    store: Store, claimed: Claim, report: decide.RunReport, *, rules: Rules = ROOMY, jitter: float = 0.0
) -> Ticket:
    """Decide about a run and carry it out, as the loop does."""
    seen = look(store, claimed.ticket.id)
    decision = decide.after_run(seen, report, rules=rules, now_ms=store.clock.now_ms(), jitter=jitter)
    return transitions.apply_run(store, seen, report, decision, rules=rules)


def lost(claimed: Claim, cause: decide.LossCause = "died", *, at_ms: int = 0) -> decide.Loss:
    """A run that left nothing."""
    return decide.Loss(claimed.attempt.run_id, claimed.attempt.fence, f"the runner {cause}", cause, at_ms)


def commit(store: Store, ticket: Ticket, *, rules: Rules = ROOMY, head: str = HEAD) -> Ticket:
    """A ticket brought to committed."""
    claimed = claim(store, ticket, rules=rules)
    return end(store, claimed, result(claimed, head=head, gates=gates(head)), rules=rules)


def verdict(live: LivePublication, outcome: PublishOutcome, **fields: object) -> PublishVerdict:
    """What the publisher hands in; a good one pushed the commit and opened a draft."""
    is_done = outcome in {PublishOutcome.PR_OPENED, PublishOutcome.PUSHED_AWAITING_PR}
    number = live.ticket.short_id
    opened = PullRequest(number=number, url=f"https://forge.test/pr/{number}", draft=True)
    values: dict[str, object] = {
        "id": live.publication.id,
        "ticket_id": live.ticket.id,
        "run_id": live.publication.run_id,
        "outcome": outcome,
        "code": outcome.value,
        "message": f"it ended as {outcome.value}",
        "pushed": live.publication.head if is_done else None,
        "pr": opened if outcome is PublishOutcome.PR_OPENED else None,
        "finished_ms": live.publication.started_ms,
    }
    return PublishVerdict.model_validate(values | fields)


def deferred(store: Store, live: LivePublication) -> decide_publish.Deferred:
    """How often its publication was put off."""
    with store.read() as conn:
        moves = queries_tickets.history(conn, live.ticket.id)
    return decide_publish.deferred(moves, since_ms=live.publication.created_ms)


def end_publish(
    store: Store, live: LivePublication, told: PublishVerdict | None, *, rules: Rules = ROOMY
) -> Ticket:
    """Decide about a publication and carry it out, as the loop does."""
    decision = decide_publish.after_publish(
        told,
        tries=live.publication.tries,
        losses=live.publication.losses,
        before=deferred(store, live),
        rules=rules,
        now_ms=store.clock.now_ms(),
        jitter=0.0,
    )
    return transitions_publish.apply_publish(store, look(store, live.ticket.id), told, decision)


def publish(store: Store, ticket: Ticket) -> Ticket:
    """A committed ticket brought to published."""
    live = transitions_publish.begin_publish(store, ticket, base="main", base_sha=BASE)
    return end_publish(store, live, verdict(live, PublishOutcome.PR_OPENED))


def attempts(store: Store, ticket: Ticket) -> Sequence[Attempt]:
    """Every attempt at the ticket."""
    with store.read() as conn:
        return queries_runs.attempts_of(conn, ticket.id)
