"""A state folder that turns read-only under a daemon with a running agent: named holds, then one draft."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autopilot.schemas.events import Event
from tests.support.daemon import PATIENCE_S
from tests.support.disks import SmallDisk, seen_read_only
from tests.support.house import House
from tests.support.wait import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240), pytest.mark.needs(binary="mount", apt="mount")]


def holds(house: House) -> dict[str, dict[str, Any]]:
    return {hold["name"]: hold for hold in house.daemon.call("GET", "/v1/status")["holds"]}


def test_a_run_whose_state_folder_turns_read_only_is_lost_with_its_reason_and_the_queue_holds_until_it_is_not(
    disk: SmallDisk, tmp_path: Path
) -> None:
    house = House(tmp_path, settings="daemon = { poll_s = 1 }\n", home=disk.folder / "home")
    go = tmp_path / "go"
    house.add_agent("waits", [{"say": "waiting"}, {"wait_for_file": str(go)}, *house.mend()])
    try:
        house.begin()
        daemon = house.daemon.process
        name = house.add(agent="waits")
        house.wait_for_journal(Event.AGENT_SPOKE)
        with seen_read_only(house.paths.state):
            go.touch()
            lost = house.daemon.wait_for_event(Event.RUN_LOST, {"cause": "died"})
            assert "result.json" in lost["reason"]
            lost = house.daemon.wait_for_event(Event.RUN_LOST, {"cause": "never-started"})
            assert "Read-only file system" in lost["reason"]
            house.daemon.wait_for_event(Event.BREAKER_OPENED, {"scope": "host"})
            hold = wait_until(lambda: holds(house).get("breaker-open"), PATIENCE_S, "the queue holds")
            assert hold is not None
            assert hold["cure"]
            assert house.daemon.ticket(name)["state"] == "queued"
        house.daemon.call("POST", "/v1/breakers", scope="host")
        house.daemon.wait_for_state(name, "published")
        assert house.daemon.process is daemon
        assert len(house.pull_requests()) == 1
        house.assert_in_order()
    finally:
        house.clean_up()
