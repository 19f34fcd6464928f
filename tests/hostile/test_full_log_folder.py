"""A log folder without room: the night goes on without its log, says so, and is logged again later."""

from __future__ import annotations

import json
import mmap
from pathlib import Path

import pytest

from autopilot.config.logs import LOG_FILE
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.events import Event
from tests.support.disks import SmallDisk
from tests.support.house import House

LOST = "log lines are lost"

pytestmark = [pytest.mark.needs(binary="mount", apt="mount"), pytest.mark.slow, pytest.mark.timeout(240)]


def fill_behind_a_whole_page(disk: SmallDisk, file: Path) -> None:
    """End the log's last page with one long line, so that the next line needs a page that is not there."""
    line = {"event": Event.DAEMON_STARTED, "pad": ""}
    while True:
        short = len(json.dumps(line)) + 1 + file.stat().st_size
        with file.open("a") as log:
            log.write(json.dumps({**line, "pad": "x" * (-short % mmap.PAGESIZE)}) + "\n")
        disk.fill()
        if file.stat().st_size % mmap.PAGESIZE == 0:
            return
        disk.make_room()  # the daemon wrote in between


@pytest.mark.parametrize("when", ["before the start", "while it runs"])
def test_a_log_folder_without_room_costs_lines_and_nothing_else(
    disk: SmallDisk, tmp_path: Path, when: str
) -> None:
    house = House(tmp_path, settings="daemon = { poll_s = 1 }\n")
    house.paths.logs.symlink_to(disk.folder)
    try:
        if when == "before the start":
            disk.fill()
        house.begin()
        if when == "while it runs":
            fill_behind_a_whole_page(disk, house.paths.logs / LOG_FILE)
        name = house.add()
        assert house.daemon.wait_for_state(name, "published")["attempts"] == 1
        assert len(house.pull_requests()) == 1
        doctor = json.loads(house.daemon.autopilot("doctor", "--json").stdout)
        (line,) = [check for check in doctor["checks"] if check["name"] == "logs"]
        assert (line["verdict"], "no room is left" in line["evidence"]) == ("warning", True), line
        assert house.daemon.stop() == ExitCode.OK
        assert house.daemon.said().count(LOST) == 1
        disk.make_room()
        house.daemon.start()
        house.daemon.wait_for_event(Event.DAEMON_STARTED)
        house.assert_in_order()
    finally:
        house.clean_up()
