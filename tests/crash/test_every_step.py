"""Killed at every step there is, one after the other, in one house: one draft, and everything in order.

A chain of deaths: each process lives until it comes to a step at which nobody of its kind has died, and dies
there; the next one comes a step further. Nothing here lists the steps, so a new event is killed by itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.load import load
from autopilot.daemon.desk import Desk
from autopilot.daemon.gc.survey import survey
from autopilot.daemon.store.copies import BACKUP_FOLDER
from autopilot.schemas.machine import State
from tests.support.clock import FakeClock
from tests.support.mortality import EVERY_MANNER, Mortality, Plan, mortal_house

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

MANNERS: Final = tuple(
    manner for manner in EVERY_MANNER if manner != "before" or os.environ.get("CRASHES") == "all"
)
"""Before a step is after the one before it, but for other threads: `script/soak --crashes` dies there too."""
EACH: Final = ("after",)
"""One step for each thing left behind: for deaths that stop nobody in the middle of a write."""
DAEMONS: Final = tuple(Plan(role="daemon", manners=MANNERS, stripe=part, stripes=4) for part in range(4))
RUNNERS: Final = tuple(Plan(role="runner", manners=MANNERS, stripe=part, stripes=5) for part in range(5))
PUBLISHERS: Final = tuple(
    Plan(role="publisher", manners=MANNERS, stripe=part, stripes=2) for part in range(2)
)
BESIDE_A_RUNNER: Final = tuple(
    Plan(role="runner", kills=("daemon",), manners=EACH, stripe=part, stripes=2) for part in range(2)
)
BESIDE_A_PUBLISHER: Final = (Plan(role="publisher", kills=("daemon",), manners=EACH),)
WITH_A_RUNNER: Final = tuple(
    Plan(role="runner", kills=("runner", "daemon"), manners=EACH, stripe=part, stripes=2) for part in range(2)
)
WITH_A_PUBLISHER: Final = (Plan(role="publisher", kills=("publisher", "daemon"), manners=EACH),)
SWEEPS: Final = (
    *(*DAEMONS, *RUNNERS, *PUBLISHERS),
    *(*BESIDE_A_RUNNER, *BESIDE_A_PUBLISHER, *WITH_A_RUNNER, *WITH_A_PUBLISHER),
)
LEAST_KILLS: Final = 200
WEEKS_S: Final = 30 * 24 * 3600


@pytest.fixture
def mortality(tmp_path: Path) -> Iterator[Mortality]:
    house = mortal_house(tmp_path)
    house.house.begin()
    yield house
    house.house.clean_up()


def live_a_ticket(mortality: Mortality) -> None:
    """Bring a ticket from `add` to its draft and into a digest, whoever dies on the way."""
    with closing(mortality.house.daemon.store()) as store:
        name = mortality.add()
        mortality.until(store, name, State.PUBLISHED)
        mortality.until_told(store, name)


@pytest.mark.parametrize("plan", SWEEPS, ids=str)
def test_a_kill_at_every_step_of_the_path_ends_with_one_draft_and_everything_in_order(
    mortality: Mortality, plan: Plan, record_property: Callable[[str, object], None]
) -> None:
    mortality.follow(plan)
    live_a_ticket(mortality)
    missed, lives = mortality.missed(), mortality.lives()
    mortality.calm()
    mortality.house.assert_in_order()
    assert len(mortality.house.pull_requests()) == 1
    assert missed == [], "somebody should have died there"
    killed = mortality.killed()
    assert set(killed) == set(plan.kills or [plan.role])
    for victim, number in killed.items():
        record_property(f"killed {victim}", number)
    if "runner" not in (plan.kills or [plan.role]):
        assert lives["runner"] <= 1, "the agent is paid once, whatever else dies"
    assert_no_part_is_left_for_ever(mortality)


def assert_no_part_is_left_for_ever(mortality: Mortality) -> None:
    """What a write by half leaves has a name that nobody reads, and there is somebody who removes it."""
    paths, later = mortality.house.paths, FakeClock(SystemClock().now_ms())
    later.advance(WEEKS_S)  # time that really passed: a clock that was merely set makes nothing old
    parts = list(paths.state.rglob("*.part"))
    assert [path for path in parts if not path.name.startswith(".")] == []
    with closing(mortality.house.daemon.store()) as store:
        cleared = {item.path for item in survey(Desk(store, load(paths), paths, later))}
    cleared |= {paths.runs, paths.state / BACKUP_FOLDER}  # they go with the run; with the next copy
    assert [path for path in parts if not cleared & {path, *path.parents}] == []


def test_the_chains_kill_at_least_as_often_as_promised(
    mortality: Mortality, record_property: Callable[[str, object], None]
) -> None:
    """Each chain kills at each step it meets (the test above); so those of one quiet night are a floor."""
    live_a_ticket(mortality)
    floor = {str(plan): len(mortality.fatal_steps(plan)) for plan in SWEEPS}
    record_property("steps of a quiet night that are fatal", sum(floor.values()))
    assert all(floor.values()), "a chain without a death"
    assert sum(floor.values()) >= LEAST_KILLS, floor
