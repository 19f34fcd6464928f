"""A clock that is set several times within a day: each step counts for what happened before it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from autopilot.schemas.machine import State
from tests.support.clocked_host import CEILING, DAY_S, HOUR_S, Host

SEVERAL = (
    *((DAY_S, DAY_S), (HOUR_S, DAY_S), (20 * HOUR_S, 20 * HOUR_S), (DAY_S, -HOUR_S), (-DAY_S, DAY_S, DAY_S)),
    *((-DAY_S, 2 * DAY_S), (DAY_S, -DAY_S, DAY_S), (HOUR_S,) * 30),
)


@pytest.mark.parametrize("several", SEVERAL, ids=str)
@pytest.mark.parametrize("between_s", [1, 60])
def test_setting_the_clock_several_times_frees_no_money_and_holds_none_for_ever(
    tmp_path: Path, several: Sequence[int], between_s: int
) -> None:
    poor = Host(tmp_path, config=CEILING)
    poor.spend()
    for seconds in several:
        poor.clock.advance(between_s)
        poor.clock.jump_wall(seconds)
        poor.look()
    assert poor.stage.hold_names() == {"cost-ceiling"}
    poor.clock.advance(23 * HOUR_S)
    poor.look()
    assert poor.stage.state("T-2") is State.QUEUED
    poor.clock.advance(26 * HOUR_S)
    poor.look()
    assert poor.stage.state("T-2") is State.RUNNING
    poor.stage.store.close()
