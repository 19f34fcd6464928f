"""A queue that could move and does not is told of; one that is held, or moves, is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config import logs
from autopilot.daemon import launching, view
from autopilot.daemon.cli import status
from autopilot.daemon.digest import gather, render
from autopilot.daemon.launching import Outlook
from autopilot.daemon.loop import Loop
from autopilot.daemon.standstill import ALARM_AFTER_S, HOLD, Standstill, after_look
from autopilot.daemon.store import writes
from autopilot.schemas.errors import InvariantError
from autopilot.schemas.events import Event
from tests.support import queue
from tests.support.shop import Stage


@pytest.mark.parametrize("before", [None, Standstill(1.0, 5)])
def test_what_is_held_or_not_asked_for_stands_not_still(before: Standstill | None) -> None:
    assert after_look(before, is_free=False, last_launch_ms=5, now_s=2.0) is None


def test_it_lasts_from_the_first_look_that_found_a_free_ticket_until_something_starts() -> None:
    first = after_look(None, is_free=True, last_launch_ms=5, now_s=100.0)
    assert first == Standstill(100.0, 5)
    assert after_look(first, is_free=True, last_launch_ms=5, now_s=700.0) == first
    assert after_look(first, is_free=True, last_launch_ms=6, now_s=700.0) == Standstill(700.0, 6)


def test_it_alarms_after_a_quarter_of_an_hour() -> None:
    still = Standstill(100.0, None)
    assert not still.is_alarming(100.0 + ALARM_AFTER_S - 0.1)
    assert still.is_alarming(100.0 + ALARM_AFTER_S)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    logs.setup(stage.paths.logs, clock=stage.clock, stderr=False, level="info", max_size_mib=1, keep_files=1)
    writes.turn_on(stage.store, by="test")
    yield stage
    stage.store.close()


def alarms(stage: Stage) -> list[str]:
    """The levels of the alarms that were logged."""
    lines = (stage.paths.logs / "autopilot.jsonl").read_text().splitlines()
    return [line["level"] for line in map(json.loads, lines) if line["event"] == Event.QUEUE_STALLED]


def go_on(stage: Stage, loop: Loop, minutes: int) -> None:
    for _ in range(minutes):
        stage.clock.advance(60)
        loop.tick()


def idle(*_: object, **__: object) -> Outlook:
    return Outlook((), None)


def broken(*_: object, **__: object) -> Outlook:
    code, what = "bug", "it never gets so far"
    raise InvariantError(code, what)


@pytest.mark.parametrize("fault", [idle, broken], ids=["idle", "raising"])
def test_a_standstill_is_told_once_and_shown_until_something_starts(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, fault: object
) -> None:
    queue.add(stage.store)
    loop = Loop(stage.shop)
    with monkeypatch.context() as patch:
        patch.setattr(launching, "launch_all", fault)
        loop.tick()
        go_on(stage, loop, 15)
        assert (alarms(stage), stage.hold_names()) == ([], set())
        go_on(stage, loop, 30)
        assert (alarms(stage), stage.hold_names()) == (["error"], {HOLD})
        shown = "\n".join(status.lines(view.status(stage.desk())))
        night = render.markdown(gather.night(stage.desk(), since_ms=0))
        for text in (shown, night):
            assert "T-1 waits and nothing keeps it" in text
    loop.tick()
    assert len(stage.run_specs()) == 1
    loop.tick()
    assert (alarms(stage), stage.hold_names()) == (["error"], set())


def test_a_second_standstill_is_told_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    queue.add(stage.store)
    queue.add(stage.store, repo="till")
    loop = Loop(stage.shop)
    for told in (1, 2):
        with monkeypatch.context() as patch:
            patch.setattr(launching, "launch_all", idle)
            go_on(stage, loop, 20)
        assert len(alarms(stage)) == told
        writes.turn_off(stage.store, by="test")
        go_on(stage, loop, 2)
        assert stage.hold_names() == {"switch-off"}
        writes.turn_on(stage.store, by="test")


def test_time_asleep_and_a_clock_that_is_set_make_no_standstill(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.add(stage.store)
    loop = Loop(stage.shop)
    monkeypatch.setattr(launching, "launch_all", idle)
    go_on(stage, loop, 5)
    stage.clock.suspend(8 * 3600)
    go_on(stage, loop, 5)
    stage.clock.jump_wall(8 * 3600)
    go_on(stage, loop, 5)
    assert alarms(stage) == []
    go_on(stage, loop, 2)
    assert alarms(stage) == ["error"]


@pytest.mark.parametrize("what", ["off", "full", "empty"])
def test_a_night_that_is_held_or_has_nothing_to_do_raises_no_alarm(stage: Stage, what: str) -> None:
    if what != "empty":
        for _ in range(4):
            queue.add(stage.store)
    if what == "off":
        writes.turn_off(stage.store, by="test")
    loop = Loop(stage.shop)
    loop.tick()
    go_on(stage, loop, 60)
    assert alarms(stage) == []
    assert HOLD not in stage.hold_names()
