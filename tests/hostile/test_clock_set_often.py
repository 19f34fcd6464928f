"""A clock that is set several times within a day: each step counts for what happened before it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from autopilot.daemon import budget
from autopilot.daemon.rules import Rules
from autopilot.daemon.store.rows import Spending
from autopilot.schemas.machine import State
from tests.support import queue
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


def test_a_clock_set_between_a_look_and_a_claim_frees_no_money(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poor = Host(tmp_path, config=CEILING)
    poor.boots_as("one")
    poor.spend()
    fits = budget.fits_ceiling

    def fits_after_a_step(spending: Spending, rules: Rules) -> bool:
        poor.clock.jump_wall(DAY_S)
        return not fits(spending, rules)

    with monkeypatch.context() as patch:
        patch.setattr(budget, "fits_ceiling", fits_after_a_step)
        poor.look()
    assert poor.stage.state("T-2") is State.QUEUED
    poor.look()
    assert poor.stage.hold_names() == {"cost-ceiling"}
    poor.stage.store.close()


def test_steps_too_small_to_be_noticed_one_by_one_keep_nobody_from_starting(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.boots_as("one")
    for _ in range(4):
        host.clock.advance(60)
        host.clock.jump_wall(20)
        host.look()
    queue.add(host.stage.store)
    host.look()
    host.look()
    assert host.stage.state() is State.RUNNING
    host.stage.store.close()
