"""A commit that is not published yet: digest and `why` say for what, and from when or by what it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.daemon import demand, view
from autopilot.daemon.digest import gather, render
from autopilot.daemon.loop import Loop
from autopilot.daemon.store import writes
from autopilot.schemas.machine import State
from autopilot.schemas.publication import PublishOutcome
from autopilot.schemas.units import local_time
from tests.support import queue
from tests.support.shop import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A commit whose publication was put off."""
    stage = Stage(tmp_path)
    queue.add(stage.store)
    writes.turn_on(stage.store, by="test")
    loop = Loop(stage.shop)
    loop.tick()
    stage.commit()
    loop.tick()
    stage.publish(PublishOutcome.PUBLISH_DEFERRED)
    loop.tick()
    assert stage.state() is State.COMMITTED
    yield stage
    stage.store.close()


def under_way(stage: Stage) -> str:
    night = gather.night(stage.desk(), since_ms=0)
    return next(line for line in render.markdown(night).splitlines() if "**T-1**" in line)


def test_one_that_was_put_off_is_told_with_its_reason_and_when_it_is_tried_again(stage: Stage) -> None:
    ticket = queue.look(stage.store, "T-1")
    assert ticket.reason
    assert ticket.not_before_ms > stage.clock.now_ms()
    again = local_time(ticket.not_before_ms, demand.zone_of(stage.settings))
    assert ticket.reason in under_way(stage)
    assert again in under_way(stage)
    assert again in view.why(stage.desk(), "T-1")["next"]
    stage.clock.advance(24 * 3600)
    assert "tried again" not in under_way(stage)
    assert "at the next tick" in view.why(stage.desk(), "T-1")["next"]


def test_one_that_waits_for_the_switch_is_told_so(stage: Stage) -> None:
    stage.clock.advance(24 * 3600)
    writes.turn_off(stage.store, by="test")
    assert "at the next tick" in view.why(stage.desk(), "T-1")["next"], "what is done may be published"
    assert "autopilot on" not in under_way(stage)
    writes.turn_off(stage.store, by="test", mode="now")
    Loop(stage.shop).tick()
    assert stage.state() is State.COMMITTED
    assert "autopilot on" in view.why(stage.desk(), "T-1")["next"]
    assert "autopilot on" in under_way(stage)
