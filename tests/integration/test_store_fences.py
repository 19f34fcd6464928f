"""A write that comes late, under an old fence, is refused and changes nothing: every one that there is."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import pytest

from autopilot.daemon import transitions, transitions_publish
from autopilot.daemon.store import leases, writes
from autopilot.daemon.store.engine import Store
from autopilot.daemon.store.rows import Claim, LivePublication
from autopilot.schemas.decision import (
    Cancel,
    Fail,
    Park,
    Pass,
    PublishDecision,
    PublishDone,
    PublishLater,
    Release,
    Retry,
    RunDecision,
)
from autopilot.schemas.errors import StaleTransitionError
from autopilot.schemas.machine import State, WaitingFor
from autopilot.schemas.publication import PublishOutcome
from autopilot.schemas.run import Outcome
from autopilot.schemas.ticket import Ticket
from tests.support import queue, words
from tests.support.clock import FakeClock
from tests.support.in_order import assert_in_order

PARK = Park(WaitingFor.BREAKER, "it is late", "")
ENDS: dict[str, RunDecision] = {
    "pass": Pass(words.HEAD, words.BASE),
    "retry": Retry(0, "late"),
    "release": Release(0, "late"),
    "park": PARK,
    "fail": Fail("late"),
    "cancel acknowledged": Cancel("late"),
}
PUBLISH_ENDS: dict[str, PublishDecision] = {
    "publish_done": PublishDone(None, words.HEAD, awaiting_pr=False),
    "publish_later": PublishLater(0, "late"),
    "park_publish": PARK,
}


@dataclass(frozen=True)
class Runs:
    """A run that was given up, and the one that was claimed after it."""

    store: Store
    queued: Ticket
    old: Claim
    new: Claim


@dataclass(frozen=True)
class Publications:
    """A try that was given up, and the one that was begun after it: one publication, two fences."""

    store: Store
    committed: Ticket
    old: LivePublication
    new: LivePublication


@pytest.fixture
def runs(store: Store) -> Runs:
    queued = queue.add(store)
    old = queue.claim(store, queued)
    queue.end(store, old, queue.lost(old, "reboot"))
    new = queue.claim(store, queue.look(store, queued.id))
    return Runs(store, queued, old, new)


@pytest.fixture
def publications(store: Store) -> Publications:
    committed = queue.commit(store, queue.add(store))
    old = _begin(store, committed)
    queue.end_publish(store, old, None)
    new = _begin(store, queue.look(store, committed.id))
    assert old.publication.id == new.publication.id
    return Publications(store, committed, old, new)


def _begin(store: Store, seen: Ticket) -> LivePublication:
    return transitions_publish.begin_publish(store, seen, base="main", base_sha=words.BASE)


def _end(name: str, *, told: str) -> Callable[[Runs], object]:
    """End a run as its old self, or hand in its old report under the claim of now."""

    def late(it: Runs) -> object:
        seen = it.old.ticket if told == "old ticket" else it.new.ticket
        run = it.new if told == "new run, old fence" else it.old
        report = queue.result(run, fence=it.old.attempt.fence)
        return transitions.apply_run(it.store, seen, report, ENDS[name], rules=queue.ROOMY)

    return late


LATE_RUNS: dict[str, Callable[[Runs], object]] = {
    **{
        f"{name}: {told}": _end(name, told=told)
        for name in ENDS
        for told in ("old ticket", "old report", "new run, old fence")
    },
    "claim": lambda it: transitions.claim(it.store, it.queued, agent="scripted", rules=queue.ROOMY),
    "park of a queued one": lambda it: transitions.park(it.store, it.queued, PARK),
    "cancel of a queued one": lambda it: transitions.cancel(it.store, it.queued, Cancel("late")),
    "cancel asked": lambda it: writes.request_cancel(it.store, it.old.ticket, by="me"),
    "process of the old run": lambda it: writes.record_process(
        it.store, it.old.attempt.run_id, fence=it.old.attempt.fence, pid=1, pid_started_ms=1
    ),
    "process under the old fence": lambda it: writes.record_process(
        it.store, it.new.attempt.run_id, fence=it.old.attempt.fence, pid=1, pid_started_ms=1
    ),
    "spend under the old fence": lambda it: writes.record_spend(
        it.store, it.new.attempt.run_id, queue.USD, fence=it.old.attempt.fence
    ),
}


def _publish_end(name: str, *, told: str) -> Callable[[Publications], object]:
    def late(it: Publications) -> object:
        live = it.old if told == "old ticket" else it.new
        verdict = queue.verdict(live, PublishOutcome.PR_OPENED, fence=it.old.publication.fence)
        return transitions_publish.apply_publish(it.store, live.ticket, verdict, PUBLISH_ENDS[name])

    return late


LATE_PUBLICATIONS: dict[str, Callable[[Publications], object]] = {
    **{
        f"{name}: {told}": _publish_end(name, told=told)
        for name in PUBLISH_ENDS
        for told in ("old ticket", "old verdict")
    },
    "lost, as it was seen": lambda it: transitions_publish.apply_publish(
        it.store, it.old.ticket, None, PublishLater(0, "late")
    ),
    "begin_publish": lambda it: _begin(it.store, it.committed),
    "cancel of a committed one": lambda it: transitions.cancel(it.store, it.committed, Cancel("late")),
    "cancel asked": lambda it: writes.request_cancel(it.store, it.old.ticket, by="me"),
    "publisher under the old fence": lambda it: writes.record_publisher(
        it.store, it.new.publication.id, fence=it.old.publication.fence, pid=1, pid_started_ms=1
    ),
    "what became of the draft": lambda it: writes.record_pr_state(
        it.store, it.new.publication.id, "closed", fence=it.old.publication.fence
    ),
}


def everything(store: Store) -> list[str]:
    with closing(sqlite3.connect(store.database)) as raw:
        return list(raw.iterdump())


@pytest.mark.parametrize("late", LATE_RUNS.values(), ids=LATE_RUNS.keys())
def test_nothing_under_the_fence_of_an_earlier_run_is_written(
    runs: Runs, late: Callable[[Runs], object]
) -> None:
    before = everything(runs.store)
    with pytest.raises(StaleTransitionError):
        late(runs)
    assert everything(runs.store) == before
    assert queue.end(runs.store, runs.new, queue.result(runs.new)).state is State.COMMITTED
    assert_in_order(runs.store)


@pytest.mark.parametrize("late", LATE_PUBLICATIONS.values(), ids=LATE_PUBLICATIONS.keys())
def test_nothing_under_the_fence_of_an_earlier_publisher_is_written(
    publications: Publications, late: Callable[[Publications], object]
) -> None:
    store, new = publications.store, publications.new
    before = everything(store)
    with pytest.raises(StaleTransitionError):
        late(publications)
    assert everything(store) == before
    told = queue.verdict(new, PublishOutcome.PR_OPENED, fence=new.publication.fence)
    assert queue.end_publish(store, new, told).state is State.PUBLISHED
    assert_in_order(store)


def test_what_an_ended_run_has_spent_is_charged_to_that_run_alone(runs: Runs) -> None:
    old, new = runs.old.attempt, runs.new.attempt
    writes.record_spend(runs.store, old.run_id, 6 * queue.USD, fence=old.fence)
    spent = {each.run_id: each.spent_micro_usd for each in queue.attempts(runs.store, runs.queued)}
    assert spent == {old.run_id: 6 * queue.USD, new.run_id: 0}
    assert_in_order(runs.store)


def test_a_person_who_acts_on_what_has_ended_since_is_told_so(store: Store) -> None:
    claimed = queue.claim(store, queue.add(store))
    parked = queue.end(store, claimed, queue.result(claimed, Outcome.NO_CHANGES))
    again = transitions.resume_run(store, parked, by="me")
    acts: tuple[Callable[[], object], ...] = (
        lambda: transitions.resume_run(store, parked, by="you"),
        lambda: transitions_publish.resume_publish(store, parked, by="you"),
        lambda: transitions.cancel(store, parked, Cancel("late"), by="you"),
    )
    for act in acts:
        with pytest.raises(StaleTransitionError):
            act()
    cancelled = transitions.cancel(store, again, Cancel("no more"), by="me")
    transitions.requeue(store, cancelled, by="me")
    with pytest.raises(StaleTransitionError):
        transitions.requeue(store, cancelled, by="you")


def test_all_live_claims_are_renewed_at_once_and_only_under_their_fence(runs: Runs, clock: FakeClock) -> None:
    store, old, new = runs.store, runs.old.attempt, runs.new.attempt
    other = queue.claim(store, queue.add(store)).attempt
    live = _begin(store, queue.commit(store, queue.add(store))).publication
    clock.advance(15)
    assert new.lease_until_ms == clock.now_ms() + 45_000
    held = {
        old.run_id: old.fence,
        new.run_id: new.fence,
        other.run_id: other.fence + 1,
        live.id: live.fence,
    }
    assert leases.renew(store, held, lease_ms=60_000) == {new.run_id, live.id}
    until = {each.run_id: each.lease_until_ms for each in queue.attempts(store, runs.queued)}
    assert until[new.run_id] == clock.now_ms() + 60_000
    assert until[old.run_id] == old.lease_until_ms
    assert leases.renew(store, {}, lease_ms=60_000) == frozenset()
