"""An agent that prints more than the disk of the state folder holds takes no room from the queue."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.disks import SmallDisk
from tests.support.house import House

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240), pytest.mark.needs(binary="mount", apt="mount")]

FLOOD_BYTES = 100_000_000


@pytest.mark.field_report("DMN-021")
def test_dmn_021_a_flood_larger_than_the_disk_ends_in_a_draft_with_a_log_that_says_what_is_missing(
    disk: SmallDisk, tmp_path: Path
) -> None:
    house = House(tmp_path, settings="daemon = { poll_s = 1 }\n", home=disk.folder / "home")
    house.add_agent("floods", [{"flood": {"bytes": FLOOD_BYTES}}, *house.mend()])
    try:
        house.begin()
        name = house.add(agent="floods")
        house.daemon.wait_for_state(name, "published")
        (log,) = house.paths.runs.glob(f"{name}-a1-*/agent-1.log")
        assert log.stat().st_size < 48_000_000
        assert b"bytes are left out here]" in log.read_bytes()[-200_000:]
        assert disk.free() > 1_000_000
        second = house.add("Another ticket")
        log.unlink()  # somebody makes room
        house.daemon.wait_for_state(second, "published")
    finally:
        house.clean_up()
