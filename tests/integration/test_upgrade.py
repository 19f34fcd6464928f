"""Another version takes over in the middle of a run: beside the old one, or in its place while it still runs.

The other version is a copy of this program with a number of its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from autopilot.config.clock import SystemClock
from autopilot.daemon.checkup import versions
from autopilot.daemon.store import queries_runs
from autopilot.daemon.version import program_version
from autopilot.schemas.checkup import Check
from autopilot.schemas.events import Event
from tests.support.house import House
from tests.support.tree import ROOT

OLD, NEW = "7.1.0", "7.2.0"


def lay(folder: Path, number: str) -> Path:
    """Lay the program down as a version of this number, in the place of what lies there."""
    shutil.rmtree(folder, ignore_errors=True)
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "autopilot", folder / "autopilot", ignore=leave)
    about = folder / f"autopilotd-{number}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: autopilotd\nVersion: {number}\n")
    return folder


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    return tmp_path / "go"


@pytest.fixture
def house(tmp_path: Path, gate: Path) -> Iterator[House]:
    house = House(tmp_path, settings="daemon = { poll_s = 600, drain_s = 60 }\n")
    house.add_agent("slow", [{"spend": {"usd": 0.1}}, {"wait_for_file": str(gate)}, *house.mend()])
    house.daemon.code = lay(tmp_path / "installed", OLD)
    yield house
    gate.touch()
    house.clean_up()


def code_of_runner(house: House, name: str) -> tuple[int, str]:
    """The pid of a ticket's runner, and where its code lies."""
    with closing(house.daemon.store()) as store, store.read() as conn:
        attempt = queries_runs.attempts_of(conn, name)[-1]
    assert attempt.process is not None
    return attempt.process[0], psutil.Process(attempt.process[0]).environ()["PYTHONPATH"]


def version_line(house: House) -> Check:
    return next(line for line in versions.versions(house.paths, SystemClock()) if line.name == "version")


@pytest.mark.slow
@pytest.mark.field_report("DMN-019")
@pytest.mark.parametrize("is_in_place", [True, False], ids=["in place", "beside it"])
def test_the_new_version_adopts_what_the_old_one_started_and_it_ends_with_one_draft(
    house: House, gate: Path, tmp_path: Path, *, is_in_place: bool
) -> None:
    house.begin()
    name = house.add(agent="slow")
    house.wait_for_journal(Event.AGENT_SPENT)
    old_pid, old_code = code_of_runner(house, name)
    assert old_code == str(tmp_path / "installed")
    assert house.daemon.call("GET", "/v1/health")["version"] == OLD
    line = version_line(house)
    assert (line.verdict, line.cure) == ("warning", "autopilot daemon stop; autopilot on")
    assert line.evidence == f"the daemon that runs is version {OLD}, this program is {program_version()}"
    house.daemon.kill()
    house.daemon.code = lay(tmp_path / ("installed" if is_in_place else "another"), NEW)
    house.daemon.start()
    assert house.daemon.call("GET", "/v1/health")["version"] == NEW
    house.daemon.wait_for_event(Event.RUN_ADOPTED)
    assert psutil.Process(old_pid).is_running()
    gate.touch()
    ticket = house.daemon.wait_for_state(name, "published")
    assert (ticket["attempts"], ticket["sessions"], ticket["losses"]) == (1, 1, 0)
    assert len(house.pull_requests()) == 1
    house.assert_in_order()


def test_the_daemon_and_the_program_of_one_version_are_told_as_one(house: House) -> None:
    house.daemon.code = ROOT / "src"
    house.daemon.start()
    line = version_line(house)
    assert (line.verdict, line.evidence) == ("go", f"{program_version()}, and so is the daemon that runs")
