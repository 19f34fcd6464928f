"""The emergency stop: everything of this queue is killed and named, and nothing else is touched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config import procinfo
from autopilot.config.paths import PUBLISH_FOLDER, SPEC_FILE
from autopilot.daemon import lock
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.events import Event
from tests.support.cli import Cli
from tests.support.house import House
from tests.support.repo_traps import write_script
from tests.support.wait import wait_until


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    settings = "max_parallel_agents = 2\nper_repo_parallel = 2\n"
    house = House(tmp_path, settings=settings, good=[{"spend": {"usd": 0.1}}, {"hang": True}])
    yield house
    house.clean_up()


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process with the mark of a run that is not of this queue."""
    env = {**os.environ, procinfo.MARK_VARIABLE: "T-1-a1-00000000"}
    with subprocess.Popen(["sleep", "600"], env=env) as process:
        yield process
        process.kill()


def test_a_daemon_that_stands_still_and_all_its_runs_are_killed_and_named_and_a_stranger_lives(
    house: House, stranger: subprocess.Popen[bytes]
) -> None:
    house.begin()
    names = [house.add(), house.add()]
    house.wait_for_journal(Event.AGENT_SPENT, count=2)
    runs = house.daemon.live_runs()
    assert house.daemon.process is not None
    os.kill(house.daemon.process.pid, signal.SIGSTOP)
    said = house.daemon.autopilot("stop", "--all", "--json")
    assert said.returncode == ExitCode.OK, said
    told = json.loads(said.stdout)
    assert {each["name"] for each in told["killed"]} == {*runs, "daemon"}
    assert len(runs) == 2
    assert all(each["processes"] > 0 for each in told["killed"])
    assert house.daemon.process.wait(60) == -signal.SIGKILL
    wait_until(lambda: not house.daemon.live_runs(), 60, "no run lives")
    assert stranger.poll() is None
    view = json.loads(house.daemon.autopilot("status", "--json").stdout)
    assert not view["switch"]["is_on"]
    again = house.daemon.autopilot("stop", "--all")
    assert again.stdout.splitlines()[0] == "nothing of ours ran"
    house.daemon.start()
    for name in names:
        house.daemon.wait_for_state(name, "queued")
    house.assert_in_order()


def test_a_publication_under_way_is_killed_and_named_with_all_that_it_started(tmp_path: Path) -> None:
    house = House(tmp_path)
    hook, entered = house.repo.remote / "hooks" / "pre-receive", tmp_path / "entered"
    os.mkfifo(tmp_path / "never")
    write_script(
        hook, f"echo $$ > {entered}.new && mv {entered}.new {entered}\nread -r _ < {tmp_path / 'never'}"
    )
    try:
        house.begin()
        name = house.add()
        wait_until(entered.exists, 120, "the push is under way")
        receiving = int(entered.read_text())
        (spec,) = house.paths.runs.glob(f"*/{PUBLISH_FOLDER}/{SPEC_FILE}")
        publication = json.loads(spec.read_text())["id"]
        told = json.loads(house.daemon.autopilot("stop", "--all", "--json").stdout)["killed"]
        assert {each["name"] for each in told} == {publication, "daemon"}
        assert {each["name"]: each["processes"] for each in told}[publication] >= 2  # it, and its git
        seen = procinfo.look(receiving)
        assert seen is None or seen.is_zombie
        assert house.daemon.process is not None
        assert house.daemon.process.wait(60) == -signal.SIGKILL
        assert house.pull_requests() == ()
        hook.unlink()
        house.daemon.start()
        house.daemon.call("POST", "/v1/switch", on=True, ignore_window=True)
        house.daemon.wait_for_state(name, "published")
        house.assert_in_order()
    finally:
        house.clean_up()


def test_without_all_nothing_is_killed_and_the_gentler_ways_are_named(tmp_path: Path) -> None:
    said = Cli(tmp_path / "home").call("stop")
    assert said.code == ExitCode.USAGE
    assert "off --now" in said.err


@pytest.mark.parametrize(
    "text", ["", "1 5 an-earlier-boot\n", "4194399 1 -\n", "x y z\n", "{pid} 1 {boot}\n"]
)
def test_a_lock_signed_by_somebody_else_names_nobody(tmp_path: Path, text: str) -> None:
    file = tmp_path / "lock"
    file.write_text(text.format(pid=os.getpid(), boot=procinfo.boot_id()))
    assert lock.owner(file) is None


def test_a_lock_that_is_held_names_its_owner(tmp_path: Path) -> None:
    with lock.daemon_lock(tmp_path / "lock"):
        assert lock.owner(tmp_path / "lock") == procinfo.identity_of(os.getpid())
