"""A disk that is full at each step of a night, one after the other: named waits, clean ends, then one draft.

The same chain as in `tests/crash/test_every_step.py`, where each process fills the disk instead of dying.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from autopilot.schemas.errors import ExitCode
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.disks import SmallDisk
from tests.support.mortality import LONG_S, Mortality, Plan, mortal_house
from tests.support.wait import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.needs(binary="mount", apt="mount")]

QUICK: Final = "[daemon]\npoll_s = 1\n"
LOOKS: Final = 3
"""So often the daemon is asked while the disk is full, before there is room again."""
# No log lines of a daemon by themselves. The three take a minute or two.
CHAINS: Final = {
    "daemon": (Plan(role="daemon", manners=("before",), steps=r"^(commit|file) "), 8),
    "runner": (Plan(role="runner", manners=("before",)), 18),
    "publisher": (Plan(role="publisher", manners=("before",)), 6),
}


class Night:
    """A night on a small disk, and somebody who makes room whenever it was full for a while."""

    def __init__(self, disk: SmallDisk, mortality: Mortality) -> None:
        self.disk, self.mortality = disk, mortality
        self.filler = disk.folder / "filler"
        self.looks = 0
        self.ends = 0

    def go_on(self) -> None:
        """Ask the daemon; one that has ended said why, by its code and a hint, and is started again."""
        daemon = self.mortality.house.daemon
        assert daemon.process is not None
        code = daemon.process.poll()
        if code is not None:
            assert code == ExitCode.LATER, daemon.said()
            assert "free disk space" in daemon.said()
            self.ends += 1
        elif self.filler.exists():
            self.mortality.ask("POST", "/v1/nudge")
            self.looks += 1
        if self.filler.exists() and (self.looks >= LOOKS or code is not None):
            self.looks = 0
            self.disk.make_room()
        if code is not None:
            daemon.start(is_awaited=False)

    def add(self, title: str, **fields: object) -> str:
        """Queue a ticket once there is room for it."""

        def is_queued() -> str:
            self.go_on()
            wanted = {"title": title, "repo": "bill", "source_key": title, **fields}
            known = self.mortality.ask("POST", "/v1/tickets", **wanted)
            return title if known else ""

        return wait_until(is_queued, LONG_S, f"{title} is queued")


@pytest.mark.field_report("DMN-022")
@pytest.mark.parametrize("role", CHAINS)
def test_a_disk_that_is_full_at_each_step_in_turn_ends_in_one_draft_and_loses_no_ticket(
    disk: SmallDisk, tmp_path: Path, role: str, record_property: Callable[[str, object], None]
) -> None:
    mortality = mortal_house(tmp_path, home=disk.folder / "home")
    house, (plan, least) = mortality.house, CHAINS[role]
    with house.paths.config_file.open("a", encoding="utf-8") as file:
        file.write(QUICK)
    house.daemon.out = tmp_path / "daemon.out"
    night = Night(disk, mortality)
    try:
        house.begin()
        mortality.follow(replace(plan, fills=str(night.filler)))
        night.add("kept", not_before_ms=2**42)
        night.add("made")
        with closing(house.daemon.store()) as store:

            def is_published() -> bool:
                night.go_on()
                kept, made = queue.look(store, "T-1"), queue.look(store, "T-2")
                assert kept.state is State.QUEUED
                assert made.state not in {State.FAILED, State.PARKED}, made.reason
                return made.state is State.PUBLISHED

            wait_until(is_published, LONG_S, f"the ticket is published; {mortality.deaths()[-3:]}")
        filled = {each["step"] for each in mortality.deaths()}
        if night.filler.exists():
            disk.make_room()
        mortality.calm()
        house.assert_in_order()
        record_property("steps at which the disk was full", len(filled))
        record_property("daemons that ended of it", night.ends)
        assert len(house.pull_requests()) == 1
        assert len(filled) >= least, filled
        assert [step for step in mortality.missed() if re.search(plan.steps, step)] == []
    finally:
        house.clean_up()
