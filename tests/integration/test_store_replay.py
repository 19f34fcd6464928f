"""The machine of states: every move that exists works, every other is refused, and history replays."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autopilot.daemon import acts, transitions, transitions_publish
from autopilot.daemon.store import queries_runs
from autopilot.daemon.store.engine import Store
from autopilot.daemon.store.rows import Claim
from autopilot.schemas.decision import (
    Cancel,
    Fail,
    Park,
    Pass,
    PublishDone,
    PublishLater,
    Release,
    Retry,
)
from autopilot.schemas.errors import AutopilotError, InvariantError, StaleTransitionError
from autopilot.schemas.machine import MOVES, State, Trigger, WaitingFor
from autopilot.schemas.publication import PublishOutcome, PublishVerdict
from autopilot.schemas.run import Outcome, RunResult
from autopilot.schemas.ticket import Ticket
from tests.support import queue, words
from tests.support.clock import FakeClock
from tests.support.in_order import assert_in_order
from tests.support.queue import ROOMY

PARKING = Park(WaitingFor.QUESTIONS, "asks", "answer it", ("Why?",))


def into(store: Store, state: State) -> Ticket:
    """A new ticket brought to this state, the way it gets there in life."""
    ticket = queue.add(store)
    match state:
        case State.QUEUED:
            return ticket
        case State.RUNNING:
            return queue.claim(store, ticket).ticket
        case State.COMMITTED:
            return queue.commit(store, ticket)
        case State.PUBLISHING:
            committed = queue.commit(store, ticket)
            return transitions_publish.begin_publish(
                store, committed, base="main", base_sha=words.BASE
            ).ticket
        case State.PUBLISHED:
            return queue.publish(store, queue.commit(store, ticket))
        case State.PARKED:
            return transitions.park(store, ticket, PARKING)
        case State.FAILED:
            claimed = queue.claim(store, ticket)
            report = queue.result(claimed, Outcome.BUG)
            return transitions.fail(store, claimed.ticket, report, Fail("broken"), rules=ROOMY)
        case State.CANCELLED:
            return acts.cancel(store, ticket.id, by="me")


def pull(store: Store, seen: Ticket, trigger: Trigger) -> object:
    """Pull one trigger on a ticket, with the report or verdict of whatever is live."""
    return _PULLS[trigger](store, seen)


def _report(store: Store, seen: Ticket) -> RunResult:
    with store.read() as conn:
        attempt = queries_runs.attempt(conn, seen.run_id or "")
    if attempt is None:
        return words.result(Outcome.BUG, run_id="T-0-a1-00000000")
    return queue.result(Claim(seen, attempt), Outcome.BUG)


def _verdict(store: Store, seen: Ticket) -> PublishVerdict | None:
    with store.read() as conn:
        live = [row for row in queries_runs.publishing(conn) if row.ticket.id == seen.id]
    return queue.verdict(live[0], PublishOutcome.PUSHED_AWAITING_PR) if live else None


def _ending(decision: object, act: Callable[..., Ticket]) -> Callable[[Store, Ticket], Ticket]:
    return lambda store, seen: act(store, seen, _report(store, seen), decision, rules=ROOMY)


def _cancel(store: Store, seen: Ticket) -> Ticket:
    report = _report(store, seen) if seen.state is State.RUNNING else None
    return transitions.cancel(store, seen, Cancel("stop"), report=report, rules=ROOMY)


def _park(store: Store, seen: Ticket) -> Ticket:
    if seen.state is State.PUBLISHING:
        return transitions_publish.park_publish(store, seen, _verdict(store, seen), PARKING)
    report = _report(store, seen) if seen.state is State.RUNNING else None
    return transitions.park(store, seen, PARKING, report=report, rules=ROOMY)


_PULLS: dict[Trigger, Callable[[Store, Ticket], object]] = {
    Trigger.CLAIM: lambda store, seen: transitions.claim(store, seen, agent=words.AGENT, rules=ROOMY),
    Trigger.PASS: _ending(Pass(words.HEAD, words.BASE), transitions.pass_),
    Trigger.RETRY: _ending(Retry(0, "again"), transitions.retry),
    Trigger.RELEASE: _ending(Release(0, "given back"), transitions.release),
    Trigger.FAIL: _ending(Fail("broken"), transitions.fail),
    Trigger.PARK: _park,
    Trigger.CANCEL: _cancel,
    Trigger.BEGIN_PUBLISH: lambda store, seen: transitions_publish.begin_publish(
        store, seen.model_copy(update={"head": words.HEAD, "run_id": seen.run_id or "x"}), base="main",
        base_sha=words.BASE,
    ),
    Trigger.PUBLISH_DONE: lambda store, seen: transitions_publish.publish_done(
        store, seen, _verdict(store, seen), PublishDone(None, words.HEAD, awaiting_pr=True)
    ),
    Trigger.PUBLISH_LATER: lambda store, seen: transitions_publish.publish_later(
        store, seen, _verdict(store, seen), PublishLater(0, "later")
    ),
    Trigger.RESUME_RUN: lambda store, seen: transitions.resume_run(store, seen, by="me"),
    Trigger.RESUME_PUBLISH: lambda store, seen: transitions_publish.resume_publish(store, seen, by="me"),
    Trigger.REQUEUE: lambda store, seen: transitions.requeue(store, seen, by="me"),
}  # fmt: skip
PULLABLE = [trigger for trigger in Trigger if trigger is not Trigger.ENQUEUE]


@pytest.mark.parametrize(("state", "trigger"), list(product(State, PULLABLE)))
def test_a_move_of_the_table_is_made_and_any_other_changes_nothing(
    store: Store, state: State, trigger: Trigger
) -> None:
    seen = into(store, state)
    expected = MOVES.get((state, trigger))
    if expected is None:
        with pytest.raises((InvariantError, StaleTransitionError)):
            pull(store, seen, trigger)
        assert queue.look(store, seen.id) == seen
    else:
        pull(store, seen, trigger)
        assert queue.look(store, seen.id).state is expected


STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(PULLABLE), st.booleans()), min_size=5, max_size=25
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_after_any_series_of_triggers_history_replays_to_the_present(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, Trigger, bool]]
) -> None:
    clock = FakeClock()
    store = queue.new_store(tmp_path_factory.mktemp("replay"), clock)
    tickets = [queue.add(store) for _ in range(3)]
    for number, trigger, is_stale in steps:
        seen = tickets[number] if is_stale else queue.look(store, tickets[number].id)
        clock.advance(3600)
        try:
            pull(store, seen, trigger)
        except AutopilotError as refused:
            assert isinstance(refused, InvariantError | StaleTransitionError), refused  # noqa: PT017
    assert_in_order(store)
    store.close()
