"""The end of a run: its money, its counters, its place; and who may not write any more."""

from __future__ import annotations

import pytest

from autopilot.daemon import decide, transitions
from autopilot.daemon.rules import Rules
from autopilot.daemon.store import queries_host, queries_runs, queries_tickets, writes
from autopilot.daemon.store.engine import Store
from autopilot.schemas.decision import Cancel, Park, Release
from autopilot.schemas.errors import InvariantError, StaleTransitionError
from autopilot.schemas.machine import State, Trigger, WaitingFor
from autopilot.schemas.run import Outcome, Usage
from tests.support import queue, records, words
from tests.support.clock import FakeClock
from tests.support.queue import ROOMY
from tests.support.words import USD

KNOWN = Usage(cost_micro_usd=USD, known=True)
ENDS = {
    Outcome.COMMITTED: (State.COMMITTED, Trigger.PASS),
    Outcome.NO_CHANGES: (State.PARKED, Trigger.PARK),
    Outcome.ASKED: (State.PARKED, Trigger.PARK),
    Outcome.GATES_FAILED: (State.PARKED, Trigger.PARK),
    Outcome.AGENT_FAILED: (State.QUEUED, Trigger.RETRY),
    Outcome.AGENT_MISSING: (State.QUEUED, Trigger.RELEASE),
    Outcome.CREDENTIAL: (State.QUEUED, Trigger.RELEASE),
    Outcome.USAGE_LIMIT: (State.QUEUED, Trigger.RELEASE),
    Outcome.OVER_CEILING: (State.PARKED, Trigger.PARK),
    Outcome.OVER_BUDGET: (State.PARKED, Trigger.PARK),
    Outcome.TIMED_OUT: (State.QUEUED, Trigger.RETRY),
    Outcome.INFRASTRUCTURE: (State.QUEUED, Trigger.RELEASE),
    Outcome.BASE_BRANCH: (State.PARKED, Trigger.PARK),
    Outcome.CONFIGURATION: (State.PARKED, Trigger.PARK),
    Outcome.STOPPED: (State.QUEUED, Trigger.RELEASE),
    Outcome.BUG: (State.QUEUED, Trigger.RETRY),
}


@pytest.mark.covers("F02")
@pytest.mark.parametrize("outcome", list(Outcome))
@pytest.mark.parametrize(("usage", "charged"), [(KNOWN, USD), (Usage(), 5 * USD)], ids=["told", "untold"])
def test_every_outcome_settles_the_run_once_and_moves_the_ticket(
    store: Store, outcome: Outcome, usage: Usage, charged: int
) -> None:
    claimed = queue.claim(store, queue.add(store))
    ended = queue.end(store, claimed, queue.result(claimed, outcome, usage=usage, questions=("Why?",)))
    (attempt,) = queue.attempts(store, ended)
    state, trigger = ENDS[outcome]
    assert (ended.state, attempt.ended_by, ended.claim_token) == (state, trigger, None)
    assert (attempt.state, attempt.outcome, attempt.spent_micro_usd) == ("finished", outcome.value, charged)
    assert attempt.spend_known is usage.known
    assert ended.spent_micro_usd == charged
    is_release = trigger is Trigger.RELEASE
    assert (ended.attempts, ended.releases, ended.sessions) == (int(not is_release), int(is_release), 1)


@pytest.mark.parametrize(
    ("cause", "charged", "known"),
    [("died", 5 * USD, False), ("reboot", 5 * USD, False), ("never-started", 0, True)],
)
def test_a_lost_run_is_charged_its_reservation_unless_it_never_began(
    store: Store, cause: decide.LossCause, charged: int, known: bool
) -> None:
    claimed = queue.claim(store, queue.add(store))
    released = queue.end(store, claimed, queue.lost(claimed, cause))
    (attempt,) = queue.attempts(store, released)
    assert released.state is State.QUEUED
    assert (attempt.outcome, attempt.spent_micro_usd, attempt.spend_known) == ("lost", charged, known)


def test_a_runner_that_dies_twice_parks_its_ticket_until_a_person_acts(store: Store) -> None:
    ticket = queue.add(store)
    for losses in (1, 2):
        claimed = queue.claim(store, queue.look(store, ticket.id))
        ended = queue.end(store, claimed, queue.lost(claimed))
        assert ended.losses == losses
    assert (ended.state, ended.waiting_for) == (State.PARKED, WaitingFor.RUNNER_LOST)


def test_a_commit_after_a_loss_forgives_the_loss(store: Store) -> None:
    claimed = queue.claim(store, queue.add(store))
    again = queue.claim(store, queue.end(store, claimed, queue.lost(claimed)))
    assert queue.end(store, again, queue.result(again)).losses == 0


@pytest.mark.covers("F02")
def test_only_the_largest_spend_ever_told_counts_even_after_the_end(store: Store, clock: FakeClock) -> None:
    claimed = queue.claim(store, queue.add(store))
    run_id, fence = claimed.attempt.run_id, claimed.attempt.fence
    for told in (2 * USD, 3 * USD, USD):
        writes.record_spend(store, run_id, told, fence=fence)
    queue.end(store, claimed, queue.result(claimed, usage=KNOWN))
    assert queue.attempts(store, claimed.ticket)[0].spent_micro_usd == 3 * USD
    for told in (4 * USD, 2 * USD):
        writes.record_spend(store, run_id, told, fence=fence)
    assert queue.look(store, claimed.ticket.id).spent_micro_usd == 4 * USD
    with store.read() as conn:
        entries = [(entry.kind, entry.micro_usd) for entry in records.ledger(conn)]
        assert queries_host.spending(conn, clock.now_ms()).settled_micro_usd == 4 * USD
    assert entries == [("reserved", 5 * USD), ("settled", 3 * USD), ("raised", USD)]


def test_a_run_whose_cost_nobody_told_is_flagged_in_the_sum(store: Store, clock: FakeClock) -> None:
    claimed = queue.claim(store, queue.add(store))
    queue.end(store, claimed, queue.result(claimed, usage=Usage()))
    with store.read() as conn:
        assert queries_host.spending(conn, clock.now_ms()).unknown_runs == 1


def test_an_old_runner_can_neither_end_nor_charge_the_run_that_came_after_it(store: Store) -> None:
    zombie = queue.claim(store, queue.add(store))
    queue.end(store, zombie, queue.lost(zombie))
    live = queue.claim(store, queue.look(store, zombie.ticket.id))
    with pytest.raises(StaleTransitionError, match="report-old"):
        queue.end(store, zombie, queue.result(zombie))
    with pytest.raises(StaleTransitionError, match="report-old"):
        queue.end(store, live, queue.result(live, fence=zombie.attempt.fence))
    with pytest.raises(StaleTransitionError, match="fence-old"):
        writes.record_spend(store, live.attempt.run_id, USD, fence=zombie.attempt.fence)
    with pytest.raises(StaleTransitionError, match="run-ended"):
        writes.record_process(
            store, zombie.attempt.run_id, fence=zombie.attempt.fence, pid=1, pid_started_ms=1
        )
    assert queue.end(store, live, queue.result(live)).state is State.COMMITTED


def test_a_run_ends_once(store: Store) -> None:
    claimed = queue.claim(store, queue.add(store))
    queue.end(store, claimed, queue.result(claimed))
    seen = claimed.ticket
    with pytest.raises(StaleTransitionError):
        transitions.release(store, seen, queue.result(claimed), Release(0, "again"), rules=ROOMY)


def test_a_decision_made_before_a_cancel_was_asked_for_is_made_again(store: Store) -> None:
    claimed = queue.claim(store, queue.add(store))
    report = queue.result(claimed, Outcome.AGENT_FAILED)
    seen = claimed.ticket
    decision = decide.after_run(seen, report, rules=ROOMY, now_ms=0, jitter=0.0)
    writes.request_cancel(store, seen, by="me")
    with pytest.raises(StaleTransitionError):
        transitions.apply_run(store, seen, report, decision, rules=ROOMY)
    cancelled = queue.end(store, claimed, report)
    assert (cancelled.state, cancelled.cancel_requested) == (State.CANCELLED, False)
    assert cancelled.spent_micro_usd == USD


def test_a_running_ticket_cannot_leave_without_its_run_being_settled(store: Store) -> None:
    claimed = queue.claim(store, queue.add(store))
    with pytest.raises(InvariantError, match="report-missing"):
        transitions.cancel(store, claimed.ticket, Cancel("no report"))
    with pytest.raises(InvariantError, match="report-missing"):
        transitions.park(store, claimed.ticket, Park(WaitingFor.BUDGET, "no report", ""))


def test_a_queued_ticket_can_be_parked_without_a_run(store: Store) -> None:
    parked = transitions.park(
        store, queue.add(store), Park(WaitingFor.BASE_BRANCH, "no such branch", "make it")
    )
    assert (parked.state, parked.waiting_for, parked.hint) == (
        State.PARKED,
        WaitingFor.BASE_BRANCH,
        "make it",
    )


def test_questions_gates_and_process_are_kept_with_the_run(store: Store) -> None:
    claimed = queue.claim(store, queue.add(store))
    writes.record_process(store, claimed.attempt.run_id, fence=1, pid=42, pid_started_ms=7)
    red = words.gates(head="c" * 40)
    asked = queue.result(claimed, Outcome.ASKED, questions=("Blue?", "Big?"), gates=red)
    parked = queue.end(store, claimed, asked)
    with store.read() as conn:
        exchanges = queries_tickets.exchanges(conn, parked.id)
        assert queries_runs.gates_of(conn, parked.id) == red
        assert queries_runs.gates_of(conn, parked.id, head=words.HEAD) == ()
    assert [(item.question, item.answer) for item in exchanges] == [("Blue?", None), ("Big?", None)]
    assert parked.ask_rounds == 1
    assert queue.attempts(store, parked)[0].process == (42, 7)


def test_the_third_failed_attempt_fails_the_ticket(store: Store, clock: FakeClock) -> None:
    ticket = queue.add(store)
    waits = []
    for _ in range(3):
        claimed = queue.claim(store, queue.look(store, ticket.id))
        ended = queue.end(store, claimed, queue.result(claimed, Outcome.AGENT_FAILED))
        waits.append(max(0, ended.not_before_ms - clock.now_ms()) // 1000)
        clock.advance(3600)
        writes.reset_breaker(store, f"agent:{words.AGENT}", by="me")
    assert (ended.state, ended.attempts, waits) == (State.FAILED, 3, [60, 120, 0])


def test_the_numbers_of_the_product_are_the_contracts() -> None:
    rules = Rules()
    assert (rules.run_ceiling_micro_usd, rules.ticket_ceiling_micro_usd) == (5 * USD, 10 * USD)
    assert (rules.cost_ceiling_micro_usd, rules.stop_launching_percent) == (25 * USD, 80)
    assert (rules.attempts_per_ticket, rules.releases_per_ticket, rules.sessions_per_ticket) == (3, 10, 15)
