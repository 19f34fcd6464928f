"""A disk without room: nothing confirmed is lost, nothing dies of it, and all goes on once there is room."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.paths import paths_below
from autopilot.config.room import has_no_room, once_there_is_room
from autopilot.daemon.cli import init
from autopilot.daemon.inbox import Woken
from autopilot.daemon.loop import Loop
from autopilot.daemon.nightly import write_digest_if_due
from autopilot.daemon.outlasting import Outlasting
from autopilot.daemon.store import queries_runs, writes
from autopilot.daemon.store.engine import open_store
from autopilot.publish.files import write_verdict
from autopilot.runner.outbox import Outbox
from autopilot.schemas.errors import AutopilotError, ExitCode, TransientError
from autopilot.schemas.machine import State
from autopilot.schemas.publication import PublishOutcome
from tests.support import queue
from tests.support.cli import Cli
from tests.support.clock import FakeClock
from tests.support.daemon import Daemon
from tests.support.disks import SmallDisk
from tests.support.shop import CONFIG, Stage

DAY_S = 86_400
QUICK = "daemon = { poll_s = 1 }\n"

pytestmark = pytest.mark.needs(binary="mount", apt="mount")


@pytest.fixture
def daemon(disk: SmallDisk) -> Iterator[Daemon]:
    daemon = Daemon(disk.folder / "home", config=QUICK + CONFIG)
    yield daemon
    daemon.clean_up()


@pytest.fixture
def stage(disk: SmallDisk) -> Iterator[Stage]:
    stage = Stage(disk.folder)
    writes.turn_on(stage.store, by="test")
    yield stage
    with suppress(AutopilotError):
        stage.store.close()


@pytest.mark.field_report("DMN-022")
def test_a_daemon_at_rest_outlives_it_refuses_what_it_cannot_store_and_goes_on(
    disk: SmallDisk, daemon: Daemon
) -> None:
    """DMN-022: the disk was full, logging raised, and the agent died in its main loop."""
    process = daemon.start()
    daemon.call("POST", "/v1/tickets", title="Kept", repo="shop")
    disk.fill()
    said = daemon.autopilot("add", "--repo", "shop", "--json", "Refused " + "x" * 8000)
    assert said.returncode == ExitCode.LATER
    assert json.loads(said.stdout)["error"]["code"] == "database-full"
    assert "free disk space" in json.loads(said.stdout)["error"]["hint"]
    daemon.call("POST", "/v1/nudge")
    assert daemon.ticket("T-1")["title"] == "Kept"
    assert process.poll() is None
    disk.make_room()
    added = daemon.call("POST", "/v1/tickets", title="Later", repo="shop")["ticket"]["id"]
    assert [ticket["title"] for ticket in daemon.call("GET", "/v1/tickets")["tickets"]] == ["Kept", "Later"]
    assert added == "T-2"
    assert daemon.stop() == ExitCode.OK


def test_a_tick_that_cannot_write_is_made_again_until_there_is_room(disk: SmallDisk, stage: Stage) -> None:
    queue.add(stage.store)
    tick = Outlasting(Loop(stage.shop))
    disk.fill()
    tick([Woken("test")])
    assert stage.state() is State.QUEUED
    assert tick.patience_s < 5
    assert stage.run_specs() == []
    disk.make_room()
    tick([Woken("test")])
    assert stage.state() is State.RUNNING
    assert len(stage.run_specs()) == 1
    assert tick.patience_s > DAY_S


@pytest.mark.field_report("DMN-022")
def test_the_end_of_a_run_is_judged_once_there_is_room(disk: SmallDisk, stage: Stage) -> None:
    queue.add(stage.store)
    tick = Outlasting(Loop(stage.shop))
    tick([])
    stage.commit()
    disk.fill()
    for _ in range(3):
        tick([])
    assert stage.state() is State.RUNNING
    disk.make_room()
    tick([])
    assert stage.state() is State.PUBLISHING
    assert queue.look(stage.store, "T-1").attempts == 1
    stage.publish()
    disk.fill()
    tick([])
    assert stage.state() is State.PUBLISHING
    disk.make_room()
    tick([])
    assert stage.state() is State.PUBLISHED


@pytest.mark.field_report("DMN-022")
def test_below_the_floor_nothing_starts_and_the_hold_says_so_until_there_is_room(disk: SmallDisk) -> None:
    stage = Stage(disk.folder, config="")
    config = stage.paths.config_file.read_text().replace("min_free_disk_gib = 0", "min_free_disk_gib = 0.02")
    stage.paths.config_file.write_text(config)
    writes.turn_on(stage.store, by="test")
    queue.add(stage.store)
    loop = Loop(stage.shop)
    disk.fill(leaving=4 * 1024 * 1024)
    loop.tick()
    assert stage.hold_names() == {"disk-low"}
    assert stage.run_specs() == []
    disk.make_room()
    loop.tick()
    assert stage.hold_names() == set()
    assert stage.state() is State.RUNNING
    stage.store.close()


def test_a_spec_that_cannot_be_written_gives_the_ticket_back_and_burns_no_attempt(
    disk: SmallDisk, stage: Stage
) -> None:
    queue.add(stage.store)
    tick = Outlasting(Loop(stage.shop))
    blocker = stage.paths.runs.with_name("runs-away")
    stage.paths.runs.rename(blocker)
    tick([])
    blocker.rename(stage.paths.runs)
    ticket = queue.look(stage.store, "T-1")
    assert (ticket.state, ticket.attempts, ticket.releases) == (State.QUEUED, 0, 1)
    stage.clock.advance(3600)
    tick([])
    assert stage.state() is State.RUNNING


def test_every_ticket_that_was_confirmed_before_it_was_full_is_there_afterwards(disk: SmallDisk) -> None:
    database = disk.folder / "autopilot.db"
    with closing(open_store(database, FakeClock())) as store:
        disk.fill(leaving=400_000)
        confirmed: list[str] = []
        with pytest.raises(TransientError, match="database-full"):
            confirmed.extend(
                queue.add(store, f"Ticket {number}", body="x" * 4000).id for number in range(1000)
            )
        assert confirmed
        disk.make_room()
        confirmed.append(queue.add(store, "After").id)
    with closing(open_store(database, FakeClock())) as store:
        store.check()
        assert [queue.look(store, name).id for name in confirmed] == confirmed
        assert len(confirmed) == int(confirmed[-1].removeprefix("T-"))


@pytest.mark.parametrize("leaving", [0, 4096, 40_960, 200_000])
def test_a_command_that_finds_no_room_for_the_first_database_says_so_and_works_later(
    disk: SmallDisk, leaving: int
) -> None:
    cli = Cli(disk.folder / "home", config=CONFIG)
    disk.fill(leaving=leaving)
    said = cli.run("add", "--repo", "shop", "Mend it")
    assert said.code == ExitCode.LATER, said
    assert "→ free disk space" in said.err
    disk.make_room()
    assert "queued T-1" in cli.ok("add", "--repo", "shop", "Mend it")


def test_a_daemon_that_starts_without_room_ends_with_75_and_a_hint_and_the_next_runs(
    disk: SmallDisk, daemon: Daemon, tmp_path: Path
) -> None:
    daemon.out = tmp_path / "daemon.out"  # a terminal has room where the disk has none
    daemon.start()
    daemon.call("POST", "/v1/tickets", title="Kept", repo="shop")
    assert daemon.stop() == ExitCode.OK
    disk.fill()
    assert daemon.start(is_awaited=False).wait(60) == ExitCode.LATER
    assert "free disk space" in daemon.said()
    disk.make_room()
    daemon.start()
    assert daemon.ticket("T-1")["title"] == "Kept"
    assert daemon.stop() == ExitCode.OK


def test_asked_to_end_while_nothing_can_be_written_a_daemon_at_rest_has_nothing_to_write(
    disk: SmallDisk, daemon: Daemon
) -> None:
    daemon.start()
    daemon.call("POST", "/v1/tickets", title="Kept", repo="shop")
    disk.fill()
    assert daemon.stop() == ExitCode.OK
    disk.make_room()
    daemon.start()
    assert daemon.ticket("T-1")["title"] == "Kept"
    assert daemon.stop() == ExitCode.OK


def waits_for_room(disk: SmallDisk, target: Path, write: Callable[[], None]) -> None:
    """It waits while the disk is full, and then writes the whole."""
    disk.fill()
    writer = threading.Thread(target=write)
    writer.start()
    writer.join(1.5)
    assert writer.is_alive()
    assert not target.exists()
    disk.make_room()
    writer.join(30)
    assert json.loads(target.read_text())
    assert list(target.parent.glob(".*")) == []


def test_the_result_of_a_run_waits_for_room(disk: SmallDisk, stage: Stage) -> None:
    queue.add(stage.store)
    Loop(stage.shop).tick()
    result = queue.result(stage.claim_of("T-1"), base="main")
    folder = stage.paths.run_dir(result.run_id)
    outbox = Outbox(folder, result.run_id, SystemClock())
    waits_for_room(disk, folder / "result.json", lambda: outbox.write_result(result))


def test_the_verdict_of_a_publisher_waits_for_room(disk: SmallDisk, stage: Stage) -> None:
    queue.add(stage.store)
    loop = Loop(stage.shop)
    loop.tick()
    stage.commit()
    loop.tick()
    with stage.store.read() as conn:
        (live,) = queries_runs.publishing(conn)
    verdict = queue.verdict(live, PublishOutcome.PR_OPENED)
    target = stage.paths.verdict(verdict.run_id)
    waits_for_room(disk, target, lambda: write_verdict(target, verdict))


def test_the_digest_is_written_once_there_is_room_and_only_once(disk: SmallDisk, stage: Stage) -> None:
    tick = Outlasting(Loop(stage.shop, chores=[write_digest_if_due]))
    tick([])
    stage.clock.advance(DAY_S)
    disk.fill()
    tick([])
    assert list(stage.paths.digests.glob("*.md")) == []
    disk.make_room()
    for _ in range(3):
        tick([])
    assert len(list(stage.paths.digests.glob("*.md"))) == 1


def test_a_configuration_that_cannot_be_written_stays_as_it_was(disk: SmallDisk) -> None:
    paths = paths_below(disk.folder)
    paths.config_file.write_text(CONFIG)
    disk.fill()
    with pytest.raises(OSError, match="No space left"):
        init.append(paths, '[[repo]]\nname = "more"\nurl = "https://forge.example/o/more.git"\n' + "#" * 9000)
    assert paths.config_file.read_text() == CONFIG
    assert sorted(path.name for path in disk.folder.iterdir()) == ["config.toml", "filler"]


def test_room_is_told_from_other_trouble(disk: SmallDisk, tmp_path: Path) -> None:
    assert not has_no_room(disk.folder)
    disk.fill()
    assert has_no_room(disk.folder)
    assert not has_no_room(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        once_there_is_room((tmp_path / "nowhere" / "x").touch)
