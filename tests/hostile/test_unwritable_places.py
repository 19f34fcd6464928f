"""Folders that are gone, shut, in the way or read-only: the reason is named, and what was queued stays."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autopilot.config.journal import read_lines
from autopilot.config.logs import LOG_FILE, logger, setup
from autopilot.daemon.loop import Loop
from autopilot.daemon.nightly import write_digest_if_due
from autopilot.daemon.store import writes
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.events import Event
from tests.support.cli import Cli
from tests.support.clock import FakeClock
from tests.support.daemon import PATIENCE_S, Daemon
from tests.support.disks import SmallDisk
from tests.support.shop import CONFIG, Stage

QUICK = "daemon = { poll_s = 1 }\n"
DAY_S = 86_400
# root passes by every mode; without these two rights it is as anybody
UNPRIVILEGED = """
import os, shutil, sys
words = [sys.executable, "-P", "-m", "autopilot.daemon.cli", "daemon", "run"]
less = "-dac_override,-dac_read_search"
if os.geteuid() == 0 and shutil.which("setpriv"):
    words = ["setpriv", f"--bounding-set={less}", f"--inh-caps={less}", *words]
os.execvp(words[0], words)
"""
BINDS = sys.platform == "darwin" or os.geteuid() != 0 or shutil.which("setpriv") is not None


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path / "home", config=QUICK + CONFIG, argv=("-c", UNPRIVILEGED))
    yield daemon
    if daemon.paths.logs.is_dir():
        daemon.paths.logs.chmod(0o700)
    daemon.clean_up()


def removed(folder: Path) -> None:
    shutil.rmtree(folder)


def replaced_by_a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("in the way")


def shut(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()
    folder.chmod(0o500)


@pytest.mark.skipif(not BINDS, reason="root without setpriv may write everywhere")
@pytest.mark.parametrize("become", [removed, replaced_by_a_file, shut])
def test_a_daemon_whose_log_folder_is_lost_goes_on(daemon: Daemon, become: Callable[[Path], None]) -> None:
    daemon.start()
    become(daemon.paths.logs)
    daemon.call("POST", "/v1/tickets", title="Kept", repo="shop")
    daemon.call("POST", "/v1/switch", on=False)
    assert daemon.ticket("T-1")["state"] == "queued"
    assert daemon.stop() == ExitCode.OK


def test_a_log_folder_that_was_tidied_away_is_made_anew(tmp_path: Path) -> None:
    with setup(tmp_path / "logs", clock=FakeClock(), stderr=False, max_size_mib=1, keep_files=2):
        logger("test").info(Event.DAEMON_STARTED)
        shutil.rmtree(tmp_path / "logs")
        logger("test").info(Event.DAEMON_STOPPED)
    (line,) = (tmp_path / "logs" / LOG_FILE).read_text().splitlines()
    assert json.loads(line)["event"] == Event.DAEMON_STOPPED
    assert (tmp_path / "logs").stat().st_mode & 0o777 == 0o700


def test_lines_are_lost_while_there_is_no_room_and_none_is_half_there_afterwards(disk: SmallDisk) -> None:
    with setup(disk.folder, clock=FakeClock(), stderr=False, max_size_mib=20, keep_files=2):
        logger("test").info(Event.DAEMON_STARTED)
        disk.fill(leaving=8192)
        for _ in range(50):
            logger("test").info(Event.TICK_FAILED, error="x" * 3000)
        disk.make_room()
        logger("test").info(Event.DAEMON_STOPPED)
    entries = [line["event"] for line in read_lines(disk.folder / LOG_FILE).entries]
    assert entries[0] == Event.DAEMON_STARTED
    assert entries[-1] == Event.DAEMON_STOPPED
    assert entries.count(Event.TICK_FAILED) < 50


@pytest.mark.parametrize("place", ["logs", "runs", "state"])
def test_a_file_where_a_folder_belongs_ends_the_start_by_its_name(tmp_path: Path, place: str) -> None:
    daemon = Daemon(tmp_path / "home", config=CONFIG)
    folder = {"logs": daemon.paths.logs, "runs": daemon.paths.runs, "state": daemon.paths.state}[place]
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("in the way")
    assert daemon.start(is_awaited=False).wait(PATIENCE_S) == ExitCode.CONFIG
    assert str(folder) in daemon.said()
    assert "→ make it writable, or set AUTOPILOT_HOME" in daemon.said()
    assert folder.read_text() == "in the way"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("add", "--repo", "shop", "Refused"), "→ check the owner and the disk"),
        (("list",), "→ check the owner and the disk"),
        (("daemon", "run"), "→ make the folder writable"),
    ],
    ids=["add", "list", "daemon"],
)
def test_a_state_folder_that_became_read_only_is_named_and_what_was_queued_is_there_when_it_is_not(
    disk: SmallDisk, words: tuple[str, ...], hint: str
) -> None:
    cli = Cli(disk.folder / "home", config=CONFIG)
    cli.ok("add", "--repo", "shop", "Kept")
    disk.read_only()
    said = cli.run(*words)
    disk.read_only(on=False)
    assert said.code == ExitCode.CONFIG, said
    assert hint in said.err
    assert "Kept" in cli.ok("list")


def test_a_digest_that_cannot_be_written_is_told_once_in_a_while_and_stops_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    writes.turn_on(stage.store, by="test")
    loop = Loop(stage.shop, chores=[write_digest_if_due])
    loop.tick()
    stage.clock.advance(DAY_S)
    stage.paths.digests.rmdir()
    stage.paths.digests.write_text("in the way")
    with setup(stage.paths.logs, clock=stage.clock, stderr=False, max_size_mib=1, keep_files=2):
        for _ in range(100):
            stage.clock.advance(1)
            loop.tick()
        stage.clock.advance(3600)
        loop.tick()
    entries = [line["event"] for line in read_lines(stage.paths.logs / LOG_FILE).entries]
    assert entries.count(Event.TICK_FAILED) == 2
    stage.paths.digests.unlink()
    stage.paths.digests.mkdir()
    loop.tick()
    assert len(list(stage.paths.digests.glob("*.md"))) == 1
    stage.store.close()
