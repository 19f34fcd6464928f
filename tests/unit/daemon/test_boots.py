"""A process of an earlier boot is nobody's now, whatever its number, and whatever the clock says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autopilot.daemon.loop import Loop
from autopilot.daemon.shop import Shop
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.shop import Stage


def restarted(stage: Stage, *, boot: str, boot_ms: int) -> Shop:
    """The place after the daemon was gone; every number lives that ever did, as some process's."""
    with stage.store.read():
        run_id = stage.claim_of("T-1").attempt.run_id
    stage.supervisor.forget(run_id)
    return replace(stage.shop, boot=boot, boot_ms=boot_ms)


def begin(stage: Stage) -> None:
    queue.add(stage.store)
    Loop(replace(stage.shop, boot="monday")).tick()
    assert stage.claim_of("T-1").attempt.boot == "monday"


@pytest.mark.parametrize("boot_ms", [0, 2**42])
def test_a_number_that_lives_again_after_a_reboot_is_not_adopted_and_the_run_is_no_death(
    stage: Stage, boot_ms: int
) -> None:
    begin(stage)
    Loop(restarted(stage, boot="tuesday", boot_ms=boot_ms)).recover()
    ticket = queue.look(stage.store, "T-1")
    assert (ticket.state, ticket.losses, ticket.releases, ticket.attempts) == (State.QUEUED, 0, 1, 0)
    assert queue.attempts(stage.store, ticket)[0].code == "run-reboot"


@pytest.mark.parametrize("boot_ms", [0, 2**42])
def test_within_one_boot_it_is_adopted_though_the_clock_was_set(stage: Stage, boot_ms: int) -> None:
    begin(stage)
    Loop(restarted(stage, boot="monday", boot_ms=boot_ms)).recover()
    assert stage.state() is State.RUNNING


@pytest.mark.parametrize("boot_ms", [0, 2**42])
def test_a_runner_that_died_within_one_boot_has_died_though_the_clock_was_set(
    stage: Stage, boot_ms: int
) -> None:
    begin(stage)
    shop = restarted(stage, boot="monday", boot_ms=boot_ms)
    stage.supervisor.alive.clear()
    Loop(shop).recover()
    assert queue.look(stage.store, "T-1").losses == 1
