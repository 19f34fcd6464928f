"""A recorded process number that is somebody else's by now: he is left alone, and the run is lost once."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from autopilot.config import procinfo
from autopilot.schemas.events import Event
from tests.support.house import House

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the same user that has nothing to do with us."""
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("how", ["the same second", "an earlier boot"])
def test_a_stranger_with_the_number_of_our_runner_is_neither_adopted_nor_killed(
    tmp_path: Path, stranger: subprocess.Popen[bytes], how: str
) -> None:
    house = House(tmp_path)
    try:
        go = tmp_path / "go"
        house.add_agent("waits", [{"say": "waiting"}, {"wait_for_file": str(go)}, *house.mend()])
        house.begin()
        name = house.add(agent="waits")
        house.wait_for_journal(Event.AGENT_SPOKE)
        house.daemon.kill()
        house.kill_runner()
        seen = procinfo.identity_of(stranger.pid)
        assert seen is not None
        started_ms = seen.started_ms - (300 if how == "the same second" else 0)
        boot = "the same boot" if how == "the same second" else "another-boot"
        with closing(sqlite3.connect(house.paths.database)) as raw:
            raw.execute("UPDATE attempts SET pid = ?, pid_started_ms = ?", (stranger.pid, started_ms))
            if boot == "another-boot":
                raw.execute("UPDATE attempts SET boot = ?", (boot,))
            raw.commit()
        go.touch()
        house.daemon.start()
        house.daemon.wait_for_state(name, "published")
        assert stranger.poll() is None
        assert house.count(Event.AGENT_STARTED) == 2
        house.assert_in_order()
    finally:
        house.clean_up()
