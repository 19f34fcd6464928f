"""The path of a ticket through the store, and what each step leaves behind."""

from __future__ import annotations

from autopilot.daemon import transitions_publish
from autopilot.daemon.store import queries_host, queries_runs, queries_tickets, writes
from autopilot.daemon.store.engine import Store
from autopilot.schemas.machine import State, Trigger
from autopilot.schemas.publication import PublishOutcome
from tests.support import queue, records, words
from tests.support.clock import FakeClock
from tests.support.words import USD


def test_a_good_ticket_goes_from_the_queue_to_a_published_draft(store: Store) -> None:
    ticket = queue.add(store, "Fix the sum", body="1 + 1 is 3", acceptance=("tests pass",))
    assert (ticket.id, ticket.state, ticket.branch) == ("T-1", State.QUEUED, "autopilot/t-1-fix-the-sum")

    claimed = queue.claim(store, ticket)
    assert (claimed.ticket.state, claimed.attempt.no, claimed.attempt.session) == (State.RUNNING, 1, 1)
    assert claimed.ticket.run_id == claimed.attempt.run_id

    committed = queue.end(store, claimed, queue.result(claimed))
    assert (committed.state, committed.head, committed.claim_token) == (State.COMMITTED, words.HEAD, None)
    assert committed.spent_micro_usd == USD

    live = transitions_publish.begin_publish(store, committed, base="main", base_sha=words.BASE)
    assert (live.ticket.state, live.publication.tries) == (State.PUBLISHING, 1)
    published = queue.end_publish(store, live, queue.verdict(live, PublishOutcome.PR_OPENED))

    assert (published.state, published.pr_url) == (State.PUBLISHED, "https://forge.test/pr/1")
    with store.read() as conn:
        moves = [entry.trigger for entry in queries_tickets.history(conn, "T-1")]
        assert queries_runs.open_drafts(conn, words.REPO) == 1
        assert len(queries_runs.gates_of(conn, "T-1", head=words.HEAD)) == 3
        assert queries_tickets.counts(conn)[State.PUBLISHED] == 1
    assert moves == [
        Trigger.ENQUEUE,
        Trigger.CLAIM,
        Trigger.PASS,
        Trigger.BEGIN_PUBLISH,
        Trigger.PUBLISH_DONE,
    ]


def test_a_reservation_stands_while_the_run_is_live_and_becomes_its_real_cost(
    store: Store, clock: FakeClock
) -> None:
    claimed = queue.claim(store, queue.add(store))
    with store.read() as conn:
        assert queries_host.spending(conn, clock.now_ms()).reserved_micro_usd == 5 * USD
    writes.record_spend(store, claimed.attempt.run_id, 2 * USD, fence=claimed.attempt.fence)
    queue.end(store, claimed, queue.result(claimed))
    with store.read() as conn:
        spending = queries_host.spending(conn, clock.now_ms())
        kinds = [(entry.kind, entry.micro_usd) for entry in records.ledger(conn)]
    assert (spending.reserved_micro_usd, spending.settled_micro_usd) == (0, 2 * USD)
    assert kinds == [("reserved", 5 * USD), ("settled", 2 * USD)]
