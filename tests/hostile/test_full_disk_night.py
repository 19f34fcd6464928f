"""A disk that fills up at some step of a whole night: the same daemon ends it, with one draft."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.schemas.events import Event
from tests.support.disks import SmallDisk
from tests.support.house import House

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
