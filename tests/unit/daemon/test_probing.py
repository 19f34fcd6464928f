"""A daemon that is on looks its machine over: a NO-GO is a hold, and a look that fails keeps nobody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config.proc import SpawnError
from autopilot.daemon import arming, desk, view
from autopilot.daemon.digest import gather, render
from autopilot.daemon.store import writes
from autopilot.daemon.watch import Ending
from autopilot.schemas.checkup import Check
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.looking import BROKEN, DULL, LOCKED, SIGNED_OUT, Looking
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


@pytest.mark.covers("C02")
def test_nothing_starts_before_the_first_look_has_said_go(stage: Stage, looking: Looking) -> None:
    looking.loop.tick()
    assert (stage.state(), looking.looks) == (State.QUEUED, 1)
    (launch,) = looking.supervisor.launches
    assert launch.argv[-2:] == ("autopilot.daemon.checkup", str(looking.report))
    looking.answer()
    again_ms = looking.loop.tick()
    assert stage.state() is State.RUNNING or again_ms == stage.clock.now_ms()
    looking.loop.tick()
    assert stage.state() is State.RUNNING
    assert not looking.holds()


@pytest.mark.covers("C02", "C08")
@pytest.mark.parametrize("line", [LOCKED, SIGNED_OUT, BROKEN], ids=["repository", "agent", "host"])
def test_what_says_no_go_is_a_hold_with_cause_start_and_cure(
    stage: Stage, looking: Looking, line: Check
) -> None:
    looking.loop.tick()
    looking.answer(line)
    looking.loop.tick()
    begun_ms = stage.clock.now_ms()
    looking.loop.tick()
    assert stage.state() is State.QUEUED
    hold = looking.holds()[line.hold]
    assert (hold.scope, hold.cure, hold.since_ms) == (line.scope, line.cure, begun_ms)
    assert hold.cause == f"{line.name}: is locked"
    stage.clock.advance(5)
    looking.loop.tick()
    assert looking.holds()[line.hold].since_ms == begun_ms


def test_why_tells_of_it_also_without_the_daemon(stage: Stage, looking: Looking) -> None:
    looking.loop.tick()
    looking.answer(LOCKED)
    looking.loop.tick()
    looking.loop.tick()
    told = view.why(stage.desk(), "T-1")
    assert [hold["name"] for hold in told["holds"]] == ["credential"]


def test_it_is_asked_again_soon_and_the_hold_clears_when_it_is_mended(stage: Stage, looking: Looking) -> None:
    looking.loop.tick()
    looking.answer(LOCKED)
    looking.loop.tick()
    looking.loop.tick()
    assert looking.looks == 1
    stage.clock.advance(60)
    looking.loop.tick()
    assert looking.looks == 2
    looking.answer()
    looking.loop.tick()
    looking.loop.tick()
    assert stage.state() is State.RUNNING
    assert not looking.holds()


@pytest.mark.covers("G04")
@pytest.mark.parametrize("is_mended", [True, False], ids=["mended", "switched off"])
def test_the_digest_tells_of_hours_that_were_lost_before_it_was_written(
    stage: Stage, looking: Looking, is_mended: bool
) -> None:
    hour_ms = 3_600_000
    writes.turn_on(stage.store, by="test", until_ms=stage.clock.now_ms() + 7 * hour_ms)
    looking.loop.tick()
    looking.answer(LOCKED)
    looking.loop.tick()
    begun_ms = stage.clock.now_ms()
    looking.loop.tick()
    stage.clock.advance(7 * 3600 - (60 if is_mended else 0))
    looking.loop.tick()
    if is_mended:
        looking.answer()
        looking.loop.tick()
    looking.loop.tick()
    assert stage.state() is (State.RUNNING if is_mended else State.QUEUED)
    assert "credential" not in looking.holds()
    stage.clock.advance(1800)
    night = gather.night(stage.desk(), since_ms=stage.clock.now_ms() - 24 * hour_ms)
    text = render.markdown(night)
    told = f"- credential (repo:shop): credential gh: is locked, for {'6h 59m' if is_mended else '7h 00m'}, "
    assert told in text.partition("## Held earlier")[2]
    (past,) = [one for one in render.as_json(night)["past_holds"] if one["name"] == "credential"]
    assert (past["scope"], past["since_ms"], past["cure"]) == ("repo:shop", begun_ms, "unlock the key ring")
    assert past["until_ms"] == begun_ms + 7 * hour_ms - (60_000 if is_mended else 0)
    if not is_mended:
        assert "- switch-off: it was on until" in text


def test_a_repository_that_is_held_does_not_keep_another_from_work(stage: Stage, looking: Looking) -> None:
    queue.add(stage.store, "Count the till", repo="till")
    looking.loop.tick()
    looking.answer(LOCKED)
    looking.loop.tick()
    looking.loop.tick()
    assert (stage.state("T-1"), stage.state("T-2")) == (State.QUEUED, State.RUNNING)


def test_a_line_that_makes_no_hold_keeps_nobody(stage: Stage, looking: Looking) -> None:
    looking.loop.tick()
    looking.answer(DULL)
    looking.loop.tick()
    looking.loop.tick()
    assert stage.state() is State.RUNNING


def test_a_line_that_a_person_overruled_holds_nothing(stage: Stage, looking: Looking) -> None:
    desk.turn_on(stage.desk(), forced=(LOCKED,))
    looking.loop.tick()
    looking.answer(LOCKED)
    looking.loop.tick()
    looking.loop.tick()
    assert stage.state() is State.RUNNING


@pytest.mark.parametrize("raw", ["", "{", json.dumps({"go": True}), "[" * 10_000])
def test_a_look_that_says_nothing_keeps_nobody(stage: Stage, looking: Looking, raw: str) -> None:
    looking.loop.tick()
    looking.answer(raw=raw, ending=Ending("the process was killed by signal 9"))
    looking.loop.tick()
    looking.loop.tick()
    assert stage.state() is State.RUNNING


def test_a_look_that_cannot_be_started_keeps_nobody(stage: Stage, looking: Looking) -> None:
    looking.supervisor.fault = lambda launch: SpawnError("spawn-failed", "no more processes")
    looking.loop.tick()
    looking.loop.tick()
    assert stage.state() is State.RUNNING


def test_nobody_looks_while_it_is_off_or_nothing_waits(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    looking = Looking(stage)
    looking.loop.tick()
    assert looking.looks == 0
    writes.turn_on(stage.store, by="test")
    looking.loop.tick()
    assert looking.looks == 1  # once, for what may come
    looking.answer()
    for _ in range(3):
        stage.clock.advance(600)
        looking.loop.tick()
    assert looking.looks == 1
    stage.store.close()


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.paths.config_file.write_text(stage.paths.config_file.read_text() + "[checkup]\nevery_s = 0\n")
    stage.current.refresh()
    queue.add(stage.store, "Mend the login")
    writes.turn_on(stage.store, by="test")
    looking = Looking(stage)
    looking.loop.tick()
    looking.loop.tick()
    assert (stage.state(), looking.looks) == (State.RUNNING, 0)
    stage.store.close()


def test_what_was_overruled_is_forgotten_with_the_next_turning_on(stage: Stage) -> None:
    desk.turn_on(stage.desk(), forced=(LOCKED,))
    assert arming.forced(stage.paths) == (LOCKED,)
    assert view.status(stage.desk())["forced"][0]["name"] == "credential gh"
    desk.turn_on(stage.desk())
    assert arming.forced(stage.paths) == ()


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff\xfe", b'{"arming_version": 2}'])
def test_a_record_that_cannot_be_read_overrules_nothing(stage: Stage, raw: bytes) -> None:
    (stage.paths.state / "arming.json").write_bytes(raw)
    assert arming.last(stage.paths) is None
    assert view.status(stage.desk())["forced"] == []
