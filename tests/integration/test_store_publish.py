"""From a verified commit to one draft: written down before the push, never twice, never paid again."""

from __future__ import annotations

import pytest

from autopilot.daemon import acts, transitions_publish
from autopilot.daemon.store import queries_runs, writes
from autopilot.daemon.store.engine import Store
from autopilot.daemon.store.rows import LivePublication, Publication
from autopilot.schemas.errors import InvariantError, StaleTransitionError
from autopilot.schemas.machine import State, WaitingFor
from autopilot.schemas.publication import PublishOutcome
from autopilot.schemas.ticket import Ticket
from tests.support import queue, words
from tests.support.clock import FakeClock

DEFERRED = PublishOutcome.PUBLISH_DEFERRED


def begin(store: Store, ticket: Ticket) -> LivePublication:
    return transitions_publish.begin_publish(store, ticket, base="main", base_sha=words.BASE)


def rows(store: Store, ticket: Ticket) -> tuple[Publication, ...]:
    with store.read() as conn:
        return queries_runs.publications_of(conn, ticket.id)


@pytest.fixture
def committed(store: Store) -> Ticket:
    return queue.commit(store, queue.add(store))


def test_where_a_commit_goes_is_on_disk_before_the_publisher_starts(store: Store, committed: Ticket) -> None:
    live = begin(store, committed)
    (row,) = rows(store, committed)
    assert row == live.publication
    assert (row.state, row.branch, row.head, row.base) == ("running", committed.branch, words.HEAD, "main")
    assert (row.expected_remote_head, row.pid, row.id) == (None, None, committed.run_id)
    assert len(row.idempotency_key) == 32
    writes.record_publisher(store, row.id, fence=row.fence, pid=42, pid_started_ms=7)
    with store.read() as conn:
        (seen,) = queries_runs.publishing(conn)
    assert seen.publication.process == (42, 7)


def test_every_try_at_one_commit_is_the_same_delivery(
    store: Store, committed: Ticket, clock: FakeClock
) -> None:
    first = begin(store, committed)
    rested = queue.end_publish(store, first, queue.verdict(first, DEFERRED))
    assert (rested.state, rested.not_before_ms) == (State.COMMITTED, clock.now_ms() + 60_000)
    second = begin(store, rested)
    assert second.publication.idempotency_key == first.publication.idempotency_key
    assert (second.publication.id, second.publication.tries) == (first.publication.id, 2)
    assert second.ticket.claim_token != first.ticket.claim_token
    queue.end_publish(store, second, queue.verdict(second, PublishOutcome.PR_OPENED))
    assert len(rows(store, committed)) == 1


def test_a_push_whose_pull_request_failed_is_what_the_next_try_expects_to_find(
    store: Store, committed: Ticket
) -> None:
    first = begin(store, committed)
    rested = queue.end_publish(store, first, queue.verdict(first, DEFERRED, pushed=words.HEAD))
    assert begin(store, rested).publication.expected_remote_head == words.HEAD


def test_a_lost_publisher_is_counted_and_the_third_loss_parks(store: Store, committed: Ticket) -> None:
    ticket = committed
    for losses in (1, 2, 3):
        ticket = queue.end_publish(store, begin(store, ticket), None)
        assert rows(store, ticket)[0].losses == losses
    assert (ticket.state, ticket.waiting_for, ticket.sessions) == (State.PARKED, WaitingFor.RUNNER_LOST, 1)
    assert acts.resume(store, ticket.id, by="me").state is State.COMMITTED


def test_a_verdict_of_any_kind_forgives_earlier_losses(store: Store, committed: Ticket) -> None:
    rested = queue.end_publish(store, begin(store, committed), None)
    live = begin(store, rested)
    queue.end_publish(store, live, queue.verdict(live, DEFERRED))
    assert rows(store, committed)[0].losses == 0


def test_a_refused_commit_is_parked_with_the_gates_of_the_second_look(
    store: Store, committed: Ticket
) -> None:
    live = begin(store, committed)
    red = words.gates()
    told = queue.verdict(live, PublishOutcome.VERIFICATION_FAILED, waiting_for="branch-conflict", gates=red)
    parked = queue.end_publish(store, live, told)
    assert (parked.waiting_for, parked.head) == (WaitingFor.BRANCH_CONFLICT, words.HEAD)
    assert rows(store, committed)[0].state == "refused"
    with store.read() as conn:
        assert len(queries_runs.gates_of(conn, parked.id)) == 2 * len(red)


def test_a_verdict_of_another_publication_is_refused(store: Store, committed: Ticket) -> None:
    live = begin(store, committed)
    other = queue.verdict(live, PublishOutcome.PR_OPENED, id="T-9-a1-00000000")
    with pytest.raises(StaleTransitionError, match="verdict-old"):
        queue.end_publish(store, live, other)
    queue.end_publish(store, live, queue.verdict(live, PublishOutcome.PR_OPENED))
    with pytest.raises((StaleTransitionError, InvariantError)):
        queue.end_publish(store, live, queue.verdict(live, PublishOutcome.PR_OPENED))
    with pytest.raises(StaleTransitionError, match="publication-ended"):
        writes.record_publisher(
            store, live.publication.id, fence=live.publication.fence, pid=1, pid_started_ms=1
        )


def test_two_publishers_never_hold_one_ticket(store: Store, committed: Ticket) -> None:
    begin(store, committed)
    with pytest.raises(StaleTransitionError):
        begin(store, committed)


def test_a_later_commit_of_the_same_ticket_is_a_delivery_of_its_own(store: Store, committed: Ticket) -> None:
    live = begin(store, committed)
    told = queue.verdict(live, PublishOutcome.VERIFICATION_FAILED, pushed=words.HEAD)
    queue.end_publish(store, live, told)
    later = queue.commit(store, acts.retry(store, committed.id, by="me"), head="d" * 40)
    second = begin(store, later)
    assert second.publication.idempotency_key != live.publication.idempotency_key
    assert second.publication.expected_remote_head == words.HEAD


def test_a_branch_that_waits_for_its_pull_request_is_done_but_no_open_draft(
    store: Store, committed: Ticket
) -> None:
    live = begin(store, committed)
    done = queue.end_publish(store, live, queue.verdict(live, PublishOutcome.PUSHED_AWAITING_PR))
    assert (done.state, done.pr_url) == (State.PUBLISHED, None)
    assert "a person opens" in done.reason
    with store.read() as conn:
        assert queries_runs.open_drafts(conn, words.REPO) == 0


@pytest.mark.parametrize("fate", ["closed", "merged"])
def test_a_draft_that_a_person_dealt_with_is_no_review_load(
    store: Store, committed: Ticket, fate: str
) -> None:
    queue.publish(store, committed)
    (row,) = rows(store, committed)
    with store.read() as conn:
        assert queries_runs.open_drafts(conn, words.REPO) == 1
        assert queries_runs.open_drafts(conn, "another") == 0
    assert fate in {"closed", "merged"}
    writes.record_pr_state(store, row.id, "closed" if fate == "closed" else "merged", fence=row.fence)
    with store.read() as conn:
        assert queries_runs.open_drafts(conn, words.REPO) == 0


def test_a_ticket_without_a_commit_cannot_be_published(store: Store) -> None:
    with pytest.raises(InvariantError, match="head-missing"):
        begin(store, queue.add(store))
