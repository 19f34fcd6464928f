"""Another version takes over in the middle of a run: beside the old one, or in its place while it still runs.

The other version is a copy of this program with a number of its own.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from autopilot.config.clock import SystemClock
from autopilot.daemon.checkup import versions
from autopilot.daemon.store import queries_host, queries_runs, writes
from autopilot.daemon.version import program_version
from autopilot.schemas.checkup import Check
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.events import Event
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.daemon import PATIENCE_S
from tests.support.house import House
from tests.support.tree import ROOT
from tests.support.wait import wait_until

OLD, NEW = "7.1.0", "7.2.0"


def lay(folder: Path, number: str) -> Path:
    """Lay the program down as a version of this number, in the place of what lies there."""
    shutil.rmtree(folder, ignore_errors=True)
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "autopilot", folder / "autopilot", ignore=leave)
    about = folder / f"autopilotd-{number}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: autopilotd\nVersion: {number}\n")
    (about / "RECORD").write_text("")
    return folder


def lay_unlike(folder: Path, number: str) -> None:
    """Lay a version down in which parts that a daemon, a run and a publisher import late fit to no others."""
    lay(folder, number)
    names = r"\b(write_atomically|one_line|GateRecord|child_environment|exchanges|history)\b"
    for file in (folder / "autopilot").rglob("*.py"):
        file.write_text(re.sub(names, r"\1_of_another", file.read_text()))


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    return tmp_path / "go"


@pytest.fixture
def poll_s() -> int:
    """How long the daemon takes at most to notice what lies in its place."""
    return 5


@pytest.fixture
def house(tmp_path: Path, gate: Path, poll_s: int) -> Iterator[House]:
    house = House(tmp_path, settings=f"daemon = {{ poll_s = {poll_s}, drain_s = 60 }}\n")
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


def held(house: House) -> list[str]:
    with closing(house.daemon.store()) as store, store.read() as conn:
        return [hold.name for hold in queries_host.holds(conn)]


def complaints(house: House) -> list[object]:
    return [line["event"] for line in house.daemon.events() if line["level"] == "error"]


def turn_on(house: House) -> None:
    with closing(house.daemon.store()) as store:
        writes.turn_on(store, by="test", ignore_window=True)


@pytest.mark.slow
@pytest.mark.field_report("DMN-019")
def test_a_daemon_below_which_another_version_was_installed_says_so_and_starts_nothing(
    house: House, gate: Path, tmp_path: Path
) -> None:
    """It parked each ticket that it claimed, for names that were not there, and counted a run as spent."""
    gate.touch()
    house.daemon.start()
    name = house.add(agent="slow")
    lay_unlike(tmp_path / "installed", NEW)
    turn_on(house)
    wait_until(lambda: held(house) == ["program-replaced"], PATIENCE_S, "it holds itself")
    with closing(house.daemon.store()) as store:
        assert queue.look(store, name).state is State.QUEUED
    assert complaints(house) == []
    health = house.daemon.call("GET", "/v1/health")
    assert (health["is_draining"], health["is_replaced"]) == (False, True)
    shutil.rmtree(tmp_path / "installed")
    assert house.daemon.stop() == 0
    house.daemon.code = lay(tmp_path / "installed", NEW)
    house.daemon.start()
    assert house.daemon.call("GET", "/v1/health")["is_replaced"] is False
    ticket = house.daemon.wait_for_state(name, "published")
    assert (ticket["attempts"], ticket["sessions"], ticket["losses"]) == (1, 1, 0)


@pytest.mark.slow
@pytest.mark.field_report("DMN-019")
@pytest.mark.parametrize("is_service", [True, False], ids=["service", "terminal"])
def test_a_run_below_which_another_version_was_installed_is_judged_by_a_daemon_of_that_version(
    house: House, gate: Path, tmp_path: Path, *, is_service: bool
) -> None:
    if is_service:
        house.daemon.env["AUTOPILOT_SERVICE"] = "systemd"
    house.begin()
    name = house.add(agent="slow")
    house.wait_for_journal(Event.AGENT_SPENT)
    lay_unlike(tmp_path / "installed", NEW)
    gate.touch()
    wait_until(lambda: "program-replaced" in held(house), PATIENCE_S, "it holds itself")
    process = house.daemon.process
    assert process is not None
    code = process.wait(PATIENCE_S) if is_service else house.daemon.stop()
    assert code == (ExitCode.LATER if is_service else ExitCode.OK)
    house.daemon.code = lay(tmp_path / "installed", NEW)
    house.daemon.start()
    ticket = house.daemon.wait_for_state(name, "published", "parked", "failed")
    assert (ticket["state"], ticket["attempts"], ticket["losses"]) == ("published", 1, 0), ticket
    assert len(house.pull_requests()) == 1
    house.assert_in_order()


@pytest.mark.slow
@pytest.mark.field_report("DMN-019")
def test_on_starts_the_new_version_where_a_daemon_of_the_old_one_does_nothing_more(
    house: House, tmp_path: Path
) -> None:
    old = house.daemon.start()
    lay(tmp_path / "installed", NEW)
    said = house.daemon.autopilot("on", "--now")
    try:
        assert said.returncode == 0, said.stdout
        health = house.daemon.call("GET", "/v1/health")
        assert (health["version"], health["is_replaced"]) == (NEW, False)
        assert old.wait(PATIENCE_S) == 0
    finally:
        house.daemon.autopilot("daemon", "stop")


@pytest.mark.slow
@pytest.mark.field_report("DMN-019")
@pytest.mark.parametrize("poll_s", [60])
def test_on_leaves_the_run_that_a_daemon_drains_for_to_the_new_version(
    house: House, gate: Path, tmp_path: Path
) -> None:
    """Stop, upgrade, on: the daemon was asked to end a second time, and stopped what it was waiting for."""
    house.begin()
    name = house.add(agent="slow")
    house.wait_for_journal(Event.AGENT_SPENT)
    old = house.daemon.process
    assert old is not None
    old.terminate()
    health = ("GET", "/v1/health")
    wait_until(lambda: house.daemon.call(*health)["is_draining"], PATIENCE_S, "it drains")
    lay(tmp_path / "installed", NEW)
    said = house.daemon.autopilot("on", "--now")
    try:
        assert said.returncode == 0, said.stdout
        assert house.daemon.call(*health)["version"] == NEW
        gate.touch()
        ticket = house.daemon.wait_for_state(name, "published")
        assert (ticket["attempts"], ticket["sessions"], ticket["losses"]) == (1, 1, 0)
    finally:
        house.daemon.autopilot("daemon", "stop")
