"""A child under watch: real processes, followed to their end."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autopilot.config import proc, procinfo
from autopilot.config.clock import SystemClock
from autopilot.config.journal import append_line
from autopilot.daemon.inbox import Ended, Inbox, Message, Spent
from autopilot.daemon.supervisor import Launch, Supervisor
from autopilot.daemon.watch import Order, Watch
from tests.support.clock import FakeClock
from tests.support.wait import wait_until

KEY = f"T-1-a1-{os.getpid():08x}"  # a mark: tests of another process must not end ours


class Awake:
    """Stands in for the sleep lock: remembers who was kept awake, and whether it was let go."""

    def __init__(self) -> None:
        self.held: list[int] = []
        self.released: list[int] = []

    @contextmanager
    def __call__(self, process: proc.ProcessId) -> Iterator[None]:
        self.held.append(process.pid)
        try:
            yield
        finally:
            self.released.append(process.pid)


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@pytest.fixture
def awake() -> Awake:
    return Awake()


def order(folder: Path, awake: Awake, *, wall_s: float = 60, grace_s: float = 5) -> Order:
    return Order(
        key=KEY, journal=folder / "events.jsonl", fence=3, wall_s=wall_s, grace_s=grace_s, keep_awake=awake
    )


def launch(folder: Path, code: str, watched: Order) -> Launch:
    return Launch(
        argv=[sys.executable, "-I", "-c", code],
        cwd=folder,
        env={"PATH": os.defpath, proc.RUN_ID_VARIABLE: watched.key},
        output=folder / "child.log",
        order=watched,
    )


def started(supervisor: Supervisor, what: Launch) -> Watch:
    supervisor.start(what)
    watch = supervisor.get(KEY)
    assert watch is not None
    return watch


def until_ended(inbox: Inbox) -> list[Message]:
    told: list[Message] = []

    def is_over() -> bool:
        told.extend(inbox.take(0.2))
        return Ended(KEY) in told

    wait_until(is_over, 20, "the watch tells of the end")
    return told


def spend(folder: Path, *amounts: object) -> None:
    for amount in amounts:
        append_line(folder / "events.jsonl", {"ts": 1, "event": "agent.spent", "cost_micro_usd": amount})


def test_the_end_of_a_child_is_told_once_with_how_it_ended_and_lets_the_machine_sleep(
    tmp_path: Path, inbox: Inbox, awake: Awake
) -> None:
    supervisor = Supervisor(clock=SystemClock(), inbox=inbox)
    watch = started(supervisor, launch(tmp_path, "raise SystemExit(7)", order(tmp_path, awake)))
    assert until_ended(inbox) == [Ended(KEY)]
    assert watch.ending is not None
    assert (watch.ending.told, watch.ending.asked) == ("the process ended with code 7", "")
    assert awake.held == awake.released == [watch.process.pid]
    supervisor.forget(KEY)
    assert supervisor.is_idle


def test_every_larger_spend_is_told_and_a_lower_or_broken_one_is_not(
    tmp_path: Path, inbox: Inbox, awake: Awake
) -> None:
    spend(tmp_path, 5, 3, "many", True, None, 9, 2**62, 2**64)
    with (tmp_path / "events.jsonl").open("ab") as journal:
        journal.write(b'{"event": "agent.spent", "cost_mic')
    supervisor = Supervisor(clock=SystemClock(), inbox=inbox)
    started(supervisor, launch(tmp_path, "", order(tmp_path, awake)))
    told = until_ended(inbox)
    assert told[:-1] == [Spent(KEY, 3, 5), Spent(KEY, 3, 9)]


def test_what_a_child_wrote_just_before_its_end_is_told_before_its_end(
    tmp_path: Path, inbox: Inbox, awake: Awake
) -> None:
    line = json.dumps({"event": "agent.spent", "cost_micro_usd": 77})
    code = f"open('events.jsonl', 'a').write({line!r} + chr(10))"
    started(Supervisor(clock=SystemClock(), inbox=inbox), launch(tmp_path, code, order(tmp_path, awake)))
    assert until_ended(inbox) == [Spent(KEY, 3, 77), Ended(KEY)]


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_a_journal_that_was_replaced_by_something_else_cannot_stop_the_watch(
    tmp_path: Path, inbox: Inbox, awake: Awake, kind: str
) -> None:
    journal = tmp_path / "events.jsonl"
    match kind:
        case "pipe":
            os.mkfifo(journal)
        case "link":
            journal.symlink_to("/dev/zero")
        case _:
            journal.mkdir()
    started(Supervisor(clock=SystemClock(), inbox=inbox), launch(tmp_path, "", order(tmp_path, awake)))
    assert until_ended(inbox) == [Ended(KEY)]


def test_a_child_asked_to_stop_may_write_how_far_it_came(tmp_path: Path, inbox: Inbox, awake: Awake) -> None:
    code = (
        "import signal, pathlib, sys\n"
        "def end(*_):\n    pathlib.Path('result').write_text('stopped')\n    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "pathlib.Path('ready').write_text('')\n"
        "signal.pause()\n"
    )
    watch = started(
        Supervisor(clock=SystemClock(), inbox=inbox), launch(tmp_path, code, order(tmp_path, awake))
    )
    wait_until((tmp_path / "ready").exists, 10, "the child can hear")
    assert watch.stop("cancelled")
    assert not watch.stop("the daemon stops")
    until_ended(inbox)
    assert (tmp_path / "result").read_text() == "stopped"
    assert watch.ending is not None
    assert (watch.ending.asked, watch.ending.is_overdue) == ("cancelled", False)


def test_a_child_that_hears_nothing_and_all_it_started_is_gone_when_its_end_is_told(
    tmp_path: Path, inbox: Inbox, awake: Awake
) -> None:
    """The grandchild has a session of its own, and its parent is long dead."""
    grandchild = (
        "import os, signal, pathlib\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "pathlib.Path('pid').write_text(str(os.getpid()))\n"
        "signal.pause()\n"
    )
    code = (
        "import os, signal, subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-I', '-c', {grandchild!r}], start_new_session=True)\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "while True: signal.pause()\n"
    )
    clock = FakeClock()
    watch = started(
        Supervisor(clock=clock, inbox=inbox), launch(tmp_path, code, order(tmp_path, awake, grace_s=1))
    )
    pid = tmp_path / "pid"
    wait_until(lambda: pid.exists() and pid.read_text(), 10, "the grandchild lives")
    grandchild_id = proc.identity_of(int(pid.read_text()))
    assert grandchild_id is not None
    watch.stop("cancelled")

    def time_goes_by() -> bool:
        clock.advance(1)
        return watch.ending is not None

    wait_until(time_goes_by, 20, "the watch ends it by force")
    assert not proc.is_alive(grandchild_id)
    assert not proc.is_alive(watch.process)


def test_a_child_that_outlives_its_backstop_is_killed_and_said_to_be_overdue(
    tmp_path: Path, inbox: Inbox, awake: Awake
) -> None:
    clock = FakeClock()
    supervisor = Supervisor(clock=clock, inbox=inbox)
    code = "import signal; signal.pause()"
    watch = started(supervisor, launch(tmp_path, code, order(tmp_path, awake, wall_s=7200)))
    clock.jump_wall(1_000_000)  # a machine that slept: nobody was awake to be overdue
    assert list(supervisor.live()) == [watch]
    clock.advance(7201)
    until_ended(inbox)
    assert watch.ending is not None
    assert watch.ending.is_overdue
    assert watch.ending.told == "the process outlived its 2h 00m and was killed"


def test_a_child_of_an_earlier_daemon_is_adopted_by_pid_and_start_and_its_journal_read_from_the_start(
    tmp_path: Path, inbox: Inbox, awake: Awake
) -> None:
    spend(tmp_path, 11)
    watched = order(tmp_path, awake)
    what = launch(tmp_path, "import signal; signal.pause()", watched)
    child = proc.spawn(what.argv, cwd=what.cwd, env=what.env, output=what.output)
    supervisor = Supervisor(clock=SystemClock(), inbox=inbox)
    assert not supervisor.adopt(watched, proc.ProcessId(child.pid, child.id.started_ms - 10))
    assert supervisor.adopt(watched, child.id)
    supervisor.stop_all("the daemon stops")
    wait_until(lambda: child.poll() is not None, 10, "the child is gone")
    assert until_ended(inbox) == [Spent(KEY, 3, 11), Ended(KEY)]
    assert not supervisor.adopt(watched, child.id)


def test_leftovers_of_a_dead_child_are_found_by_their_mark_alone(
    tmp_path: Path, inbox: Inbox, awake: Awake
) -> None:
    what = launch(tmp_path, "import signal; signal.pause()", order(tmp_path, awake))
    child = proc.spawn(what.argv, cwd=what.cwd, env=what.env, output=what.output)
    supervisor = Supervisor(clock=SystemClock(), inbox=inbox)
    assert supervisor.sweep("T-1-a1-ffffffff", None) == 0
    assert proc.is_alive(child.id)
    assert supervisor.sweep(KEY, None) == 1
    wait_until(lambda: child.poll() is not None, 10, "the leftover is gone")


def test_an_end_is_told_even_when_the_machine_had_no_descriptor_left_to_look_with(
    tmp_path: Path, inbox: Inbox, awake: Awake, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, real = iter(range(3)), procinfo.all_pids

    def all_pids() -> frozenset[int]:
        if next(looks, None) is not None:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), "/proc")
        return real()

    monkeypatch.setattr(procinfo, "all_pids", all_pids)
    supervisor = Supervisor(clock=SystemClock(), inbox=inbox)
    watch = started(supervisor, launch(tmp_path, "raise SystemExit(7)", order(tmp_path, awake)))
    assert until_ended(inbox) == [Ended(KEY)]
    assert watch.ending is not None
    assert next(looks, "spent") == "spent"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_child_that_cannot_be_looked_at_for_a_moment_is_not_taken_for_gone(
    tmp_path: Path, inbox: Inbox, awake: Awake, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = order(tmp_path, awake)
    child = proc.spawn(["sleep", "600"], cwd=tmp_path, env={"PATH": os.defpath}, output=tmp_path / "out")
    supervisor = Supervisor(clock=SystemClock(), inbox=inbox)
    assert supervisor.adopt(watched, child.id)
    watch, blind, opened = supervisor.get(KEY), iter(range(3)), Path.read_bytes

    def read_bytes(path: Path) -> bytes:
        if path == Path(f"/proc/{child.pid}/stat") and next(blind, None) is not None:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(path))
        return opened(path)

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    wait_until(lambda: next(blind, None) is None, 10, "the watch could not look")
    assert watch is not None
    assert watch.ending is None
    watch.stop("the test is over")
    until_ended(inbox)
    assert child.poll() is not None
