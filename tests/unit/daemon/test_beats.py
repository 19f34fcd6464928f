"""A beat of the heart is a tick that came to its end: not one under way, nor a failed one, nor a thread."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.daemon.app import judge_until_done
from autopilot.daemon.clockwork import Clockwork
from autopilot.daemon.inbox import StopAsked, Woken
from autopilot.daemon.loop import Loop
from autopilot.daemon.shop import Shop
from autopilot.daemon.vitals import Vitals
from autopilot.schemas.errors import AutopilotError, ConfigError
from tests.support.shop import Stage


class Heart:
    """Notes each word."""

    longest_wait_s = 30.0

    def __init__(self) -> None:
        self.said: list[str] = []

    def ready(self, status: str) -> None:
        self.said.append(f"ready: {status}")

    def beat(self, status: str) -> None:
        self.said.append(status)

    def stopping(self, within_s: float) -> None:
        self.said.append(f"stopping within {within_s:.0f} s")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.store.close()


def judge(stage: Stage, heart: Heart, *, loop: Loop) -> None:
    clockwork = Clockwork(stage.inbox, clock=stage.clock, poll_s=60)
    judge_until_done(loop, stage.inbox, clockwork, Vitals(stage.shop, heart))


def test_the_heart_beats_after_each_tick_that_ended_and_at_no_other_time(stage: Stage) -> None:
    heart, heard = Heart(), []

    def chore(_: Shop) -> None:
        heard.append(len(heart.said))
        stage.inbox.put(StopAsked("test") if len(heard) == 4 else Woken("test"))

    judge(stage, heart, loop=Loop(stage.shop, chores=[chore]))
    assert heard[:4] == [0, 1, 2, 3]
    assert heart.said == ["0 under way"] * 4


def test_a_tick_that_does_not_come_to_its_end_is_no_beat(stage: Stage) -> None:
    class Breaks(Loop):
        ticks = 0

        def tick(self, messages: object = ()) -> int | None:
            self.ticks += 1
            stage.inbox.put(Woken("test"))
            if self.ticks == 3:
                raise ConfigError("store-damaged", "it cannot be read", hint="")
            return None

    heart = Heart()
    with pytest.raises(AutopilotError):
        judge(stage, heart, loop=Breaks(stage.shop))
    assert heart.said == ["0 under way"] * 2
