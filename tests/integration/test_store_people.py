"""What a person may say: cancel, retry, resume, answer; and what only a person resets."""

from __future__ import annotations

import pytest

from autopilot.daemon import acts, transitions_publish
from autopilot.daemon.store import queries_tickets, writes
from autopilot.daemon.store.engine import Store
from autopilot.schemas.errors import RefusedError, StaleTransitionError, TicketError
from autopilot.schemas.machine import State
from autopilot.schemas.publication import PublishOutcome
from autopilot.schemas.run import Outcome
from autopilot.schemas.ticket import Ticket
from tests.support import queue, words
from tests.support.words import USD


def asked(store: Store, *questions: str) -> Ticket:
    claimed = queue.claim(store, queue.add(store))
    return queue.end(store, claimed, queue.result(claimed, Outcome.ASKED, questions=questions))


def parked(store: Store) -> Ticket:
    claimed = queue.claim(store, queue.add(store))
    return queue.end(store, claimed, queue.result(claimed, Outcome.GATES_FAILED))


def refused_by_publisher(store: Store) -> Ticket:
    committed = queue.commit(store, queue.add(store))
    live = transitions_publish.begin_publish(store, committed, base="main", base_sha=words.BASE)
    return queue.end_publish(store, live, queue.verdict(live, PublishOutcome.VERIFICATION_FAILED))


def test_what_rests_is_cancelled_at_once(store: Store) -> None:
    for ticket in (queue.add(store), queue.commit(store, queue.add(store)), parked(store)):
        cancelled = acts.cancel(store, ticket.id, by="me")
        assert (cancelled.state, cancelled.reason) == (State.CANCELLED, "cancelled by me")
        with store.read() as conn:
            assert queries_tickets.history(conn, ticket.id)[-1].by == "me"


def test_what_is_worked_on_is_asked_to_stop(store: Store) -> None:
    running = queue.claim(store, queue.add(store))
    seen = acts.cancel(store, running.ticket.id, by="me")
    assert (seen.state, seen.cancel_requested) == (State.RUNNING, True)
    ended = queue.end(store, running, queue.result(running, Outcome.STOPPED))
    assert ended.state is State.CANCELLED


def test_a_publication_that_is_asked_to_stop_ends_at_its_next_rest(store: Store) -> None:
    committed = queue.commit(store, queue.add(store))
    live = transitions_publish.begin_publish(store, committed, base="main", base_sha=words.BASE)
    acts.cancel(store, committed.id, by="me")
    ended = queue.end_publish(store, live, queue.verdict(live, PublishOutcome.PUBLISH_DEFERRED))
    assert ended.state is State.CANCELLED


def test_a_publication_that_was_done_when_it_was_asked_to_stop_is_done(store: Store) -> None:
    committed = queue.commit(store, queue.add(store))
    live = transitions_publish.begin_publish(store, committed, base="main", base_sha=words.BASE)
    acts.cancel(store, committed.id, by="me")
    ended = queue.end_publish(store, live, queue.verdict(live, PublishOutcome.PR_OPENED))
    assert (ended.state, ended.cancel_requested) == (State.PUBLISHED, False)


def test_what_has_ended_cannot_be_cancelled(store: Store) -> None:
    published = queue.publish(store, queue.commit(store, queue.add(store)))
    with pytest.raises(RefusedError, match="not-cancellable"):
        acts.cancel(store, published.id, by="me")
    with pytest.raises(StaleTransitionError):
        writes.request_cancel(store, published, by="me")


@pytest.mark.parametrize("act", [acts.cancel, acts.retry, acts.resume])
@pytest.mark.parametrize("name", ["T-99", "nonsense"])
def test_an_unknown_ticket_is_named(store: Store, act: object, name: str) -> None:
    assert callable(act)
    with pytest.raises(TicketError, match="ticket-unknown"):
        act(store, name, by="me")


def test_dmn_039_a_retry_by_a_person_resets_attempts_but_never_runs_or_money(store: Store) -> None:
    ticket = parked(store)
    before = queue.look(store, ticket.id)
    again = acts.retry(store, ticket.id, by="me")
    assert (again.state, again.attempts, again.releases) == (State.QUEUED, 0, 0)
    assert (again.sessions, again.spent_micro_usd) == (before.sessions, before.spent_micro_usd) == (1, USD)


@pytest.mark.parametrize("end", ["failed", "cancelled"])
def test_a_failed_or_cancelled_ticket_can_be_queued_anew(store: Store, end: str) -> None:
    claimed = queue.claim(store, queue.add(store))
    if end == "cancelled":
        writes.request_cancel(store, claimed.ticket, by="me")
    one_try = queue.ROOMY.__class__(attempts_per_ticket=1)
    ended = queue.end(store, claimed, queue.result(claimed, Outcome.AGENT_FAILED), rules=one_try)
    assert ended.state.value == end
    again = acts.retry(store, ended.id, by="me")
    assert (again.state, again.attempts, again.sessions, again.reason) == (State.QUEUED, 0, 1, "")


def test_a_ticket_that_is_queued_already_cannot_be_retried_or_resumed(store: Store) -> None:
    ticket = queue.add(store)
    with pytest.raises(RefusedError, match="not-retryable"):
        acts.retry(store, ticket.id, by="me")
    with pytest.raises(RefusedError, match="not-parked") as caught:
        acts.resume(store, ticket.id, by="me")
    assert "autopilot why T-1" in caught.value.hint


@pytest.mark.covers("B10")
def test_a_resume_goes_on_where_the_ticket_waits(store: Store) -> None:
    run, publication = parked(store), refused_by_publisher(store)
    assert acts.resume(store, run.id, by="me").state is State.QUEUED
    resumed = acts.resume(store, publication.id, by="me")
    assert (resumed.state, resumed.head) == (State.COMMITTED, words.HEAD)
    assert (resumed.sessions, resumed.attempts) == (1, 1)  # no agent is paid again


def test_a_resume_keeps_the_counters(store: Store) -> None:
    ticket = parked(store)
    resumed = acts.resume(store, ticket.id, by="me")
    assert (resumed.attempts, resumed.sessions) == (1, 1)


def test_an_answer_is_kept_beside_its_question_and_queues_the_ticket(store: Store) -> None:
    ticket = asked(store, "Blue or green?", "How big?")
    answered = acts.answer(store, ticket.id, ["blue", "42"], by="me")
    assert (answered.state, answered.ask_rounds) == (State.QUEUED, 1)
    with store.read() as conn:
        exchanges = queries_tickets.exchanges(conn, ticket.id)
    assert [(item.question, item.answer) for item in exchanges] == [
        ("Blue or green?", "blue"),
        ("How big?", "42"),
    ]


def test_one_answer_may_stand_for_all_questions(store: Store) -> None:
    ticket = asked(store, "Blue?", "Green?")
    acts.answer(store, ticket.id, ["as you like"], by="me")
    with store.read() as conn:
        assert {item.answer for item in queries_tickets.exchanges(conn, ticket.id)} == {"as you like"}


def test_a_wrong_number_of_answers_is_refused_with_the_questions(store: Store) -> None:
    ticket = asked(store, "Blue?", "Green?", "Red?")
    with pytest.raises(RefusedError, match="answers-missing") as caught:
        acts.answer(store, ticket.id, ["yes", "no"], by="me")
    assert "Blue?; Green?; Red?" in caught.value.what
    assert queue.look(store, ticket.id) == ticket


def test_a_ticket_that_asks_nothing_cannot_be_answered(store: Store) -> None:
    with pytest.raises(RefusedError, match="nothing-asked"):
        acts.answer(store, queue.add(store).id, ["yes"], by="me")


def test_the_second_round_of_questions_is_answered_on_its_own(store: Store) -> None:
    first = asked(store, "Blue?")
    claimed = queue.claim(store, acts.answer(store, first.id, ["yes"], by="me"))
    queue.end(store, claimed, queue.result(claimed, Outcome.ASKED, questions=("How blue?",)))
    acts.answer(store, first.id, ["very"], by="me")
    with store.read() as conn:
        answers = [item.answer for item in queries_tickets.exchanges(conn, first.id)]
    assert answers == ["yes", "very"]
