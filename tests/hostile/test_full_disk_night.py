"""A disk that fills up at some step of a whole night: the same daemon ends it, with one draft."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.schemas.errors import ExitCode
from autopilot.schemas.events import Event
from tests.support.daemon import PATIENCE_S
from tests.support.disks import SmallDisk
from tests.support.house import House
from tests.support.wait import wait_until

QUICK = "daemon = { poll_s = 1 }\n"

pytestmark = pytest.mark.needs(binary="mount", apt="mount")


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.field_report("DMN-022")
@pytest.mark.parametrize(
    "event", [Event.AGENT_SPOKE, Event.AGENT_FINISHED, Event.COMMIT_MADE, Event.PUBLISH_STARTED]
)
def test_a_night_that_meets_a_full_disk_at_any_step_ends_with_one_draft_by_the_same_daemon(
    disk: SmallDisk, tmp_path: Path, event: Event
) -> None:
    house = House(tmp_path, settings=QUICK, home=disk.folder / "home")
    try:
        house.begin()
        daemon = house.daemon.process
        name = house.add()
        if event is Event.PUBLISH_STARTED:
            house.daemon.wait_for_event(event)
        else:
            house.wait_for_journal(event)
        disk.fill()
        for _ in range(20):
            house.daemon.call("POST", "/v1/nudge")
            assert house.daemon.ticket(name)["state"] != "failed"
        assert daemon is not None
        assert daemon.poll() is None, house.daemon.said()
        disk.make_room()
        house.daemon.wait_for_state(name, "published")
        assert house.daemon.process is daemon
        assert len(house.pull_requests()) == 1
        house.assert_in_order()
    finally:
        house.clean_up()


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_asked_to_end_while_the_end_of_a_run_cannot_be_written_it_ends_with_75_and_a_hint(
    disk: SmallDisk, tmp_path: Path
) -> None:
    house = House(tmp_path, settings="daemon = { poll_s = 1, drain_s = 0.1 }\n", home=disk.folder / "home")
    go = tmp_path / "go"
    house.add_agent("waits", [{"say": "waiting"}, {"wait_for_file": str(go)}, *house.mend()])
    try:
        house.daemon.out = tmp_path / "daemon.out"  # a terminal has room where the disk has none
        house.begin()
        name = house.add(agent="waits")
        house.wait_for_journal(Event.AGENT_SPOKE)
        disk.fill()
        daemon = house.daemon.process
        assert daemon is not None
        daemon.terminate()

        def has_ended() -> bool:
            disk.fill()  # again and again: what ends gives some of it free
            return daemon.poll() is not None

        wait_until(has_ended, PATIENCE_S, "the daemon ended")
        assert daemon.returncode == ExitCode.LATER, house.daemon.said()
        assert "free disk space" in house.daemon.said()
        disk.make_room()
        go.touch()
        house.daemon.start()
        ticket = house.daemon.wait_for_state(name, "published")
        assert ticket["attempts"] == 1
        assert len(house.pull_requests()) == 1
        house.assert_in_order()
    finally:
        house.clean_up()
