"""The real daemon on a clock that a test sets: what runs goes on, and is paid for once."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.schemas.events import Event
from tests.support import clocked_daemon
from tests.support.house import House

DAY_S = 86_400


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_run_outlives_a_clock_that_is_set_a_day_ahead_and_back(tmp_path: Path) -> None:
    offset, go = tmp_path / "offset", tmp_path / "go"
    offset.write_text("0")
    house = House(tmp_path)
    try:
        house.add_agent("waits", [{"say": "waiting"}, {"wait_for_file": str(go)}, *house.mend()])
        house.daemon.argv = (clocked_daemon.__file__, str(offset))
        house.begin()
        name = house.add(agent="waits")
        house.wait_for_journal(Event.AGENT_SPOKE)
        for number, seconds in enumerate((DAY_S, 0, -DAY_S, 0), start=1):
            (tmp_path / "next").write_text(str(seconds))
            (tmp_path / "next").rename(offset)
            house.daemon.call("POST", "/v1/nudge")
            house.daemon.wait_for_event(Event.CLOCK_SET, count=number)
            assert house.daemon.ticket(name)["state"] == "running"
        go.touch()
        assert house.daemon.wait_for_state(name, "published")["attempts"] == 1
        assert house.count(Event.AGENT_STARTED) == 1
        house.assert_in_order()
    finally:
        house.clean_up()
