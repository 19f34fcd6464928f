"""Copies of the queue: whole, read back, kept by number, made while others write."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autopilot.config.journal import read_lines
from autopilot.daemon.backups import SCHEDULE, Backups
from autopilot.daemon.inbox import Woken
from autopilot.daemon.store import backup, copies, migrate, queries_host
from autopilot.daemon.store.engine import Store, open_store
from autopilot.schemas.errors import ConfigError, TransientError
from autopilot.schemas.ticket import Ticket
from autopilot.schemas.units import MS_PER_S
from tests.support import queue
from tests.support.cli import Cli, fill
from tests.support.clock import FakeClock
from tests.support.shop import Stage
from tests.support.tree import ROOT
from tests.support.wait import wait_until

DAY_S = 24 * 3600
KILLED_AT_A_STEP = """
import os, signal, sys
from pathlib import Path
from autopilot.daemon.store import backup
class Fate:
    steps = 0
    def wait(self, pause_s):
        Fate.steps += 1
        if Fate.steps == 3:
            os.kill(os.getpid(), signal.SIGKILL)
backup.STEP_PAGES = 4
backup.make(Path(sys.argv[1]), taken_ms=1_767_312_000_000, kind="daily", schema="0001", stop=Fate())
"""


class HeldSteps(threading.Event):
    """Holds the first steps of a copy, each until somebody has written three more times."""

    HELD = 3

    def __init__(self, count: Callable[[], int]) -> None:
        super().__init__()
        self.taken = 0
        self._count = count

    def wait(self, timeout: float | None = None) -> bool:
        """Take a step; where it is held, writers do not wait for the copy."""
        self.taken += 1
        if self.taken <= self.HELD:
            before = self._count()
            wait_until(lambda: self._count() >= before + 3, 60, "others write while the copy is made")
        return super().wait(timeout)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.store.close()


def make(store: Store, taken_ms: int, kind: copies.Kind = "daily") -> copies.Copy:
    return backup.make(store.database, taken_ms=taken_ms, kind=kind, schema=migrate.HEAD)


def files(store: Store) -> list[str]:
    return sorted(path.name for path in (store.database.parent / "backups").iterdir())


@pytest.mark.field_report("DMN-025")
def test_dmn_025_a_copy_made_under_many_writes_is_one_moment_and_holds_no_writer_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = queue.new_store(tmp_path)
    for number in range(60):
        queue.add(store, f"Ticket {number}", body="x" * 4000)
    monkeypatch.setattr(backup, "STEP_PAGES", 2)
    written: list[Ticket] = []
    stop = threading.Event()
    steps = HeldSteps(lambda: len(written))

    def write_on() -> None:
        other = open_store(store.database, FakeClock(), role="cli")
        while not stop.is_set():
            written.append(queue.add(other, "Meanwhile"))
        other.close()

    writer = threading.Thread(target=write_on)
    writer.start()
    try:
        wait_until(lambda: len(written) > 2, 30, "the writer writes")
        copy = backup.make(
            store.database, taken_ms=store.clock.now_ms(), kind="daily", schema=migrate.HEAD, stop=steps
        )
    finally:
        stop.set()
        writer.join()
    assert steps.taken > HeldSteps.HELD
    assert copy.fault == ""
    assert 60 < copy.tickets < 60 + len(written)
    assert copies.inspect(copy.path) == copy
    assert copy.path.stat().st_mode & 0o777 == 0o600
    assert files(store) == [copy.path.name]
    store.close()


def test_older_copies_go_only_after_a_newer_one_was_read_back_and_each_kind_is_counted_apart(
    store: Store,
) -> None:
    start_ms = store.clock.now_ms()
    for day in range(4):
        make(store, start_ms + day * DAY_S * MS_PER_S)
    by_hand = make(store, start_ms, "manual")
    foreign = by_hand.path.with_name("mine.db")
    foreign.write_bytes(by_hand.path.read_bytes())
    removed = backup.prune(by_hand.path.parent, keep=2)
    assert [path.name[15:25] for path in removed] == ["2026-01-03", "2026-01-02"]
    assert len(files(store)) == 4
    assert {by_hand.path.name, "mine.db"} <= set(files(store))


def test_a_copy_that_cannot_be_believed_is_not_kept_and_the_good_one_before_it_stays(
    tmp_path: Path,
) -> None:
    store = queue.new_store(tmp_path)
    for number in range(40):
        queue.add(store, f"Ticket {number}", body="x" * 1500)
    good = make(store, store.clock.now_ms())
    store.close()
    with store.database.open("r+b") as file:
        file.seek(store.database.stat().st_size // 2 // 4096 * 4096)
        file.write(b"\xa5" * 4096)
    with pytest.raises(ConfigError, match=r"backup-unsound|database-damaged"):
        make(store, store.clock.now_ms() + 1)
    assert files(store) == [good.path.name]


def test_a_copy_that_was_killed_half_way_leaves_nothing_that_is_taken_for_one(tmp_path: Path) -> None:
    store = queue.new_store(tmp_path)
    for number in range(40):
        queue.add(store, f"Ticket {number}", body="x" * 4000)
    command = [sys.executable, "-c", KILLED_AT_A_STEP, str(store.database)]
    done = subprocess.run(command, env={"PYTHONPATH": str(ROOT / "src")}, check=False)
    assert done.returncode == -9
    assert [name for name in files(store) if name.endswith(".part")], "it was killed too early"
    assert copies.in_folder(store.database.parent / "backups") == []
    copy = make(store, store.clock.now_ms())
    assert files(store) == [copy.path.name]
    store.close()


def test_a_copy_that_is_given_up_leaves_nothing(store: Store) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(backup.StoppedError):
        backup.make(store.database, taken_ms=0, kind="daily", schema="0001", stop=stop)
    assert files(store) == []


def test_two_processes_make_no_copy_at_the_same_time(store: Store) -> None:
    make(store, store.clock.now_ms())
    folder = store.database.parent / "backups"
    with backup._alone(folder), pytest.raises(TransientError, match="backup-under-way"):  # noqa: SLF001 - as another process would hold it
        make(store, store.clock.now_ms() + 1)


def test_a_copy_without_room_says_so_and_is_no_fault_of_the_database(store: Store) -> None:
    folder = store.database.parent / "backups"
    folder.write_text("a file is in the way", encoding="utf-8")
    with pytest.raises(ConfigError, match="backup-unwritable"):
        make(store, store.clock.now_ms())
    folder.unlink()


def settle(stage: Stage, backups: Backups) -> int | None:
    """Let the chore do all it has to do now."""
    due_ms = backups(stage.shop)
    while due_ms is None:
        assert Woken(SCHEDULE) in stage.inbox.take(60)
        thread = next((one for one in threading.enumerate() if one.name == SCHEDULE), None)
        if thread is not None:
            thread.join(60)
        due_ms = backups(stage.shop)
    return due_ms


def daily(stage: Stage) -> list[str]:
    return [path.name for path in copies.in_folder(stage.paths.state / "backups")]


def test_the_daemon_makes_one_copy_a_day_also_after_days_of_sleep_and_keeps_as_many_as_are_set(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, config='backup = {keep_files = 2, at = "08:00"}\n')
    backups = Backups(stage.inbox)
    assert settle(stage, backups) == stage.clock.now_ms() + 8 * 3600 * MS_PER_S
    assert daily(stage) == []
    queue.add(stage.store, repo="shop")
    stage.clock.advance(9 * 3600)
    for _ in range(3):
        settle(stage, backups)
    assert len(daily(stage)) == 1
    stage.clock.jump_wall(5 * DAY_S)
    settle(stage, backups)
    assert len(daily(stage)) == 2
    stage.clock.advance(DAY_S)
    settle(stage, Backups(stage.inbox))
    assert [name[15:25] for name in daily(stage)] == ["2026-01-08", "2026-01-07"]
    stage.clock.jump_wall(-2 * DAY_S)
    settle(stage, backups)
    assert len(daily(stage)) == 2
    stage.store.close()


def test_a_daily_copy_that_fails_is_told_and_tried_again_an_hour_later(stage: Stage) -> None:
    backups = Backups(stage.inbox)
    settle(stage, backups)
    stage.clock.advance(9 * 3600)
    blocked = stage.paths.state / "backups"
    blocked.write_text("in the way", encoding="utf-8")
    assert settle(stage, backups) == stage.clock.now_ms() + 3600 * MS_PER_S
    blocked.unlink()
    settle(stage, backups)
    assert not blocked.exists(), "it was tried again at once"
    stage.clock.advance(3600)
    settle(stage, backups)
    assert len(daily(stage)) == 1
    with stage.store.read() as conn:
        assert queries_host.last_firing(conn, SCHEDULE) is not None


def test_a_stopping_daemon_gives_the_copy_up_and_the_next_one_makes_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "PAUSE_S", 60.0)
    backups = Backups(stage.inbox)
    settle(stage, backups)
    stage.clock.advance(9 * 3600)
    assert backups(stage.shop) is None
    backups.close()
    assert daily(stage) == []
    monkeypatch.undo()
    settle(stage, Backups(stage.inbox))
    assert len(daily(stage)) == 1


def test_a_person_copies_the_queue_lists_the_copies_and_is_told_how_to_bring_one_back(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "my home", config="")
    fill(cli)
    said = cli.told("backup")
    made = cli.call("backup", "--json").json()["backup"]
    assert (made["tickets"], made["is_good"], made["kind"]) == (6, True, "manual")
    assert said.splitlines()[-1].startswith("bring it back with: autopilot restore '")
    (tmp_path / "elsewhere").mkdir()
    away = cli.call("backup", "--json", "--to", str(tmp_path / "elsewhere")).json()["backup"]
    assert Path(away["path"]).parent == tmp_path / "elsewhere"
    named = cli.call("backup", "--json", "--to", str(tmp_path / "copy.db")).json()["backup"]
    assert named["tickets"] == 6
    again = cli.call("backup", "--json", "--to", str(tmp_path / "copy.db"))
    assert (again.code, again.error["code"]) == (3, "backup-exists")
    Path(made["path"]).write_bytes(b"")
    rows = cli.call("backup", "list", "--json").json()["backups"]
    assert [(row["is_good"], row["fault"]) for row in rows] == [(False, "the file is empty"), (True, "")]
    assert "damaged: the file is empty" in cli.told("backup", "list")


def test_what_the_daemon_has_open_can_be_copied_from_the_command_line(tmp_path: Path) -> None:
    cli = Cli(tmp_path, config="")
    daemon = cli.store()
    queue.add(daemon)
    assert cli.call("backup", "--json").json()["backup"]["tickets"] == 1
    daemon.close()
    lines = read_lines(cli.paths.logs / "autopilot.jsonl").entries
    (line,) = [line for line in lines if line["event"] == "backup.made"]
    assert line["tickets"] == 1
