"""How long a look counts and how long one is waited for: over sleeps, clocks that are set, and a switch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.daemon.store import writes
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.looking import BROKEN, LOCKED, SIGNED_OUT, Looking
from tests.support.shop import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.store.close()


@pytest.fixture
def looking(stage: Stage) -> Looking:
    queue.add(stage.store, "Mend the login")
    writes.turn_on(stage.store, by="test")
    return Looking(stage)


def test_a_look_that_hangs_keeps_a_launch_for_a_moment_only(stage: Stage, looking: Looking) -> None:
    looking.loop.tick()
    stage.clock.advance(44)
    looking.loop.tick()
    assert stage.state() is State.QUEUED
    stage.clock.advance(2)
    looking.loop.tick()
    assert (stage.state(), looking.looks) == (State.RUNNING, 1)


@pytest.mark.covers("C02")
def test_a_look_that_ended_while_the_loop_stood_still_counts_before_anything_starts(
    stage: Stage, looking: Looking
) -> None:
    """The machine slept through the patience of a launch: what was found meanwhile was read after it."""
    looking.loop.tick()
    stage.clock.advance(600.0)
    looking.answer(SIGNED_OUT)
    looking.loop.tick()
    assert (stage.state(), list(looking.holds())) == (State.QUEUED, ["agent-sign-in"])


def test_a_switch_that_is_turned_on_anew_is_looked_at_anew(stage: Stage, looking: Looking) -> None:
    looking.loop.tick()
    looking.answer(LOCKED)
    looking.loop.tick()
    writes.turn_off(stage.store, by="test")
    looking.loop.tick()
    writes.turn_on(stage.store, by="test")
    looking.loop.tick()
    assert (stage.state(), looking.looks) == (State.QUEUED, 2)
    looking.answer()
    looking.loop.tick()
    assert stage.state() is State.RUNNING


@pytest.mark.covers("C02")
@pytest.mark.parametrize("is_asleep", [True, False], ids=["a sleep", "hours without a ticket"])
def test_nothing_starts_on_a_look_that_is_older_than_the_next_was_due(
    tmp_path: Path, is_asleep: bool
) -> None:
    stage = Stage(tmp_path)
    writes.turn_on(stage.store, by="test")
    looking = Looking(stage)
    looking.loop.tick()
    looking.answer()
    assert looking.loop.tick() is None
    (stage.clock.suspend if is_asleep else stage.clock.advance)(4 * 3600.0)
    assert looking.loop.tick() is None  # nobody waits for it
    assert looking.looks == 1
    queue.add(stage.store, "Mend the login")
    looking.loop.tick()
    assert (stage.state(), looking.looks) == (State.QUEUED, 2)
    looking.answer(SIGNED_OUT)
    looking.loop.tick()
    assert (stage.state(), list(looking.holds())) == (State.QUEUED, ["agent-sign-in"])
    stage.store.close()


@pytest.mark.covers("C02")
def test_a_launch_waits_for_a_look_that_slept_as_the_machine_did(stage: Stage, looking: Looking) -> None:
    looking.loop.tick()
    stage.clock.suspend(300.0)
    assert looking.loop.tick() == stage.clock.now_ms() + 45_000
    assert (stage.state(), looking.looks) == (State.QUEUED, 1)
    stage.clock.advance(46.0)
    looking.loop.tick()
    assert (stage.state(), looking.looks) == (State.RUNNING, 1)


def test_a_look_that_takes_longer_than_the_next_is_away_does_not_keep_the_loop_busy(
    stage: Stage, looking: Looking
) -> None:
    looking.loop.tick()
    looking.answer(BROKEN)
    looking.loop.tick()
    stage.clock.advance(60.0)
    looking.loop.tick()
    stage.clock.advance(61.0)
    assert (looking.loop.tick(), looking.looks) == (None, 2)


@pytest.mark.covers("C02")
def test_a_good_look_of_before_a_long_sleep_is_no_answer_after_it(stage: Stage, looking: Looking) -> None:
    looking.loop.tick()
    stage.clock.suspend(4 * 3600.0)
    looking.answer()
    looking.loop.tick()
    assert (stage.state(), looking.looks) == (State.QUEUED, 2)
    looking.answer()
    looking.loop.tick()
    assert stage.state() is State.RUNNING


def test_a_clock_that_is_set_back_does_not_keep_the_next_look_away(stage: Stage, looking: Looking) -> None:
    looking.loop.tick()
    looking.answer(LOCKED)
    looking.loop.tick()
    stage.clock.jump_wall(-7 * 24 * 3600)
    stage.clock.advance(301)
    looking.loop.tick()
    stage.clock.advance(301)
    looking.loop.tick()
    assert looking.looks == 2
