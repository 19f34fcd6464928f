"""Somebody holds the write lock: a turn of the daemon ends long before its watchdog, and loses nothing."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from autopilot.daemon.inbox import Spent, StopAsked
from autopilot.daemon.loop import TURN_S, Loop
from autopilot.daemon.outlasting import Outlasting
from autopilot.daemon.store import writes
from autopilot.daemon.store.engine import open_store
from autopilot.launchd.service import WATCHDOG_S
from autopilot.schemas.errors import TransientError
from autopilot.schemas.machine import State
from autopilot.schemas.run import Outcome
from tests.support import queue
from tests.support.clock import FakeClock
from tests.support.shop import Stage

LOOK_S = 0.25


class HastyClock(FakeClock):
    """Each look at it takes a while, so that a test need not wait."""

    def monotonic_s(self) -> float:
        """Seconds that never run backwards."""
        self.advance(LOOK_S)
        return super().monotonic_s()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    writes.turn_on(stage.store, by="test", ignore_window=True)
    yield stage
    stage.store.close()


@contextmanager
def held(stage: Stage) -> Iterator[None]:
    with closing(sqlite3.connect(stage.store.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


def test_a_turn_under_a_held_lock_ends_long_before_the_watchdog_and_what_it_was_told_is_kept(
    stage: Stage,
) -> None:
    for repo in ("shop", "till"):
        queue.add(stage.store, repo=repo)
    Loop(stage.shop).tick()
    claims = [stage.claim_of(name) for name in ("T-1", "T-2")]
    stage.hand_in(queue.result(claims[1], Outcome.NO_CHANGES))
    clock = HastyClock(stage.clock.now_ms())
    store = open_store(stage.store.database, clock, role="daemon")
    loop = Loop(dataclasses.replace(stage.shop, store=store, clock=clock))
    turn = Outlasting(loop)
    loop.catch_up()
    told = [Spent(one.attempt.run_id, one.attempt.fence, 1000) for one in claims]
    with held(stage):
        before_s = clock.elapsed_s()
        turn([*told, StopAsked("SIGTERM")])
        assert TURN_S <= clock.elapsed_s() - before_s < WATCHDOG_S / 3
    assert loop.is_draining
    assert stage.state("T-2") is State.RUNNING
    turn([])
    assert stage.state("T-2") is State.PARKED
    assert stage.claim_of("T-1").attempt.spent_micro_usd == 1000, "what a run spent is told again"
    assert turn.patience_s > WATCHDOG_S, "and then no more"
    store.close()


def test_a_recovery_under_a_held_lock_is_bounded_too(stage: Stage) -> None:
    queue.add(stage.store)
    Loop(stage.shop).tick()
    stage.hand_in(queue.result(stage.claim_of("T-1"), Outcome.NO_CHANGES))
    clock = HastyClock(stage.clock.now_ms())
    store = open_store(stage.store.database, clock, role="daemon")
    loop = Loop(dataclasses.replace(stage.shop, store=store, clock=clock))
    with held(stage):
        before_s = clock.elapsed_s()
        with loop.patience():
            loop.recover()
        assert clock.elapsed_s() - before_s < WATCHDOG_S / 3
    loop.tick()
    assert stage.state("T-1") is State.PARKED
    store.close()


def test_patience_is_one_threads_and_ends_with_its_block(stage: Stage) -> None:
    clock = HastyClock(stage.clock.now_ms())
    store = open_store(stage.store.database, clock, role="daemon", busy_ms=50)
    with store.patience(60), store.patience(0), held(stage), pytest.raises(TransientError, match="locked"):
        queue.add(store)
    before_s = clock.elapsed_s()
    with held(stage), pytest.raises(TransientError, match="locked"):
        queue.add(store)
    assert clock.elapsed_s() == before_s, "nobody looks at the clock who has time"
    store.close()
