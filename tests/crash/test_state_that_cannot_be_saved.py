"""When state cannot be saved the daemon ends and says so; what runs goes on and the next one takes it up."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from autopilot.daemon.api import client
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.events import Event
from tests.support.house import House

GO = "go"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    wait = {"wait_for_file": str(tmp_path / GO)}
    mend = house.mend()
    house.add_agent("waits", [{"say": "waiting"}, wait, *mend])
    yield house
    house.clean_up()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process can be set on Linux only")
def test_a_full_disk_ends_the_daemon_while_its_run_goes_on_and_the_next_daemon_publishes_it(
    house: House, tmp_path: Path
) -> None:
    house.begin()
    name = house.add(agent="waits")
    house.wait_for_journal(Event.AGENT_SPOKE)
    process = house.daemon.process
    assert process is not None
    psutil.Process(process.pid).rlimit(psutil.RLIMIT_FSIZE, (4096, 4096))
    (tmp_path / GO).touch()
    assert process.wait(60) == ExitCode.LATER, house.daemon.said()
    house.daemon.start()
    house.daemon.wait_for_state(name, "published")
    assert house.count(Event.AGENT_STARTED) == 1
    house.assert_in_order()


def test_a_database_that_breaks_under_the_daemon_ends_it_with_the_reason_and_is_not_written_over(
    house: House,
) -> None:
    house.begin()
    database = house.paths.database
    with database.open("r+b") as file:
        file.write(b"\x00" * 8192)
    client.nudge(house.paths.control_socket)
    process = house.daemon.process
    assert process is not None
    assert process.wait(60) == ExitCode.CONFIG
    (line,) = [line for line in house.daemon.events() if line["event"] == Event.DAEMON_FAILED]
    assert line["code"] == "database-damaged"
    assert house.daemon.start(is_awaited=False).wait(60) == ExitCode.CONFIG
    assert database.read_bytes()[:8192] == b"\x00" * 8192


@pytest.mark.parametrize("is_replaced", [False, True], ids=["removed", "replaced"])
def test_a_database_that_is_taken_away_under_the_daemon_ends_it_before_anything_more_is_written(
    house: House, *, is_replaced: bool
) -> None:
    house.begin()
    kept = house.paths.database.with_name("kept.db")
    house.paths.database.rename(kept)
    if is_replaced:
        house.paths.database.write_bytes(kept.read_bytes())
    client.nudge(house.paths.control_socket)
    process = house.daemon.process
    assert process is not None
    assert process.wait(60) == ExitCode.CONFIG, house.daemon.said()
    (line,) = [line for line in house.daemon.events() if line["event"] == Event.DAEMON_FAILED]
    assert line["code"] == ("database-exchanged" if is_replaced else "database-missing")
