"""SIGTERM in the middle of claim, start, commit and push: a clean end, then one draft by the next daemon."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from autopilot.schemas.errors import ExitCode
from autopilot.schemas.events import Event
from autopilot.schemas.machine import State
from tests.support.daemon import PATIENCE_S
from tests.support.mortality import Mortality, Plan, mortal_house
from tests.support.repo_traps import write_script
from tests.support.wait import wait_until

AT_ONCE = "[daemon]\ndrain_s = 0.1\n"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def in_a_hurry(folder: Path) -> Mortality:
    mortality = mortal_house(folder)
    with mortality.house.paths.config_file.open("a", encoding="utf-8") as file:
        file.write(AT_ONCE)
    return mortality


def ends_cleanly(mortality: Mortality) -> None:
    process = mortality.house.daemon.process
    assert process is not None
    assert process.wait(PATIENCE_S) == ExitCode.OK, mortality.house.daemon.said()
    assert mortality.house.daemon.live_runs() == set()


def goes_on_to_one_draft(mortality: Mortality, name: str) -> None:
    house = mortality.house
    house.daemon.start()
    with closing(house.daemon.store()) as store:
        ticket = mortality.until(store, name, State.PUBLISHED)
    assert (ticket.attempts, ticket.losses) == (1, 0)
    assert len(house.pull_requests()) == 1
    house.assert_in_order()


@pytest.mark.parametrize(
    ("role", "steps", "manner"),
    [
        ("daemon", r"^commit claim\b", "before"),
        ("daemon", r"^commit claim\b", "after"),
        ("daemon", r"^file spec\.json", "after"),
        ("daemon", r"^commit \w+ record_process", "before"),
        ("runner", r"^line commit\.made", "before"),
        ("runner", r"^line commit\.made", "after"),
    ],
    ids=["in the claim", "claimed", "before the start", "started", "in the commit", "committed"],
)
def test_a_daemon_that_is_asked_to_end_at_this_very_step_loses_nothing(
    tmp_path: Path, role: str, steps: str, manner: str
) -> None:
    mortality = in_a_hurry(tmp_path)
    try:
        mortality.follow(Plan(role=role, steps=steps, manners=[manner], is_asked=True))
        mortality.house.begin()
        name = mortality.house.add()
        ends_cleanly(mortality)
        assert len(mortality.deaths()) == 1
        assert mortality.house.pull_requests() == ()
        goes_on_to_one_draft(mortality, name)
    finally:
        mortality.house.clean_up()


def test_a_daemon_that_is_asked_to_end_in_the_middle_of_a_push_loses_nothing(tmp_path: Path) -> None:
    mortality = in_a_hurry(tmp_path)
    house, entered, never = mortality.house, tmp_path / "entered", tmp_path / "never"
    os.mkfifo(never)
    hook = house.repo.remote / "hooks" / "pre-receive"
    write_script(hook, f"touch {entered}\nread -r line < {never}")
    try:
        house.begin()
        name = house.add()
        wait_until(entered.exists, PATIENCE_S, "the push is under way")
        assert house.daemon.stop() == ExitCode.OK
        ends_cleanly(mortality)
        assert house.remote_branches() == {}
        assert house.count(Event.PUBLISH_PUSHED) == 0
        hook.unlink()
        goes_on_to_one_draft(mortality, name)
        assert house.count(Event.AGENT_STARTED) == 1
    finally:
        house.clean_up()
