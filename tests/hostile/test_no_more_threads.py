"""No thread and no memory for a while: each of our threads is set going again, and nobody waits for one."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.proc import ProcessId
from autopilot.daemon import signals
from autopilot.daemon.api import client
from autopilot.daemon.api.control import ControlServer
from autopilot.daemon.api.server import Server
from autopilot.daemon.backups import RETRY_MS, SCHEDULE, Backups
from autopilot.daemon.clockwork import Clockwork
from autopilot.daemon.doors import Doors
from autopilot.daemon.inbox import Ended, Inbox, Message, StopAsked, Woken
from autopilot.daemon.lock import daemon_lock
from autopilot.daemon.loop import Loop
from autopilot.daemon.processes import Handle
from autopilot.daemon.supervisor import Supervisor
from autopilot.daemon.watch import Order
from autopilot.schemas.errors import ExitCode, TransientError
from tests.support.shop import Stage
from tests.support.wait import wait_until

CHILD, KEY = ProcessId(7, 70), "T-1-a1-00000001"
DAY_S = 86_400
DIES = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


class Table:
    """One process, which lives until it is ended; looking at it fails as the test wants."""

    def __init__(self) -> None:
        self.lives = True
        self.looks = self.ends = 0
        self.on_look: Callable[[int], None] = lambda nth: None
        self.on_end: Callable[[int], None] = lambda nth: None

    def spawn(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: Path) -> Handle:
        raise NotImplementedError

    def find(self, mark: str) -> ProcessId | None:
        return None

    def is_alive(self, process: ProcessId) -> bool:
        self.looks += 1
        self.on_look(self.looks)
        return self.lives

    def is_standing(self, process: ProcessId) -> bool:
        return False

    def ask_to_end(self, process: ProcessId) -> None:
        self.lives = False

    def end_tree(self, process: ProcessId | None, *, mark: str) -> int:
        self.ends += 1
        self.on_end(self.ends)
        self.lives = False
        return 1


@contextmanager
def no_thread_starts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As CPython says it where the machine gives no thread."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        yield


def order(folder: Path) -> Order:
    return Order(
        key=KEY,
        journal=folder / "events.jsonl",
        fence=1,
        wall_s=100,
        grace_s=1,
        keep_awake=lambda _: nullcontext(),
    )


def fails(*which: int, by: type[Exception]) -> Callable[[int], None]:
    def fail(nth: int) -> None:
        if nth in which:
            raise by("none left")

    return fail


def is_told(supervisor: Supervisor, inbox: Inbox) -> bool:
    """Look as the loop does on each of its ticks."""
    watch = supervisor.get(KEY)
    assert watch is not None
    return watch.ending is not None and Ended(KEY) in inbox.take(0)


def test_a_child_that_no_thread_could_be_had_for_is_watched_from_the_next_tick_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, inbox = Table(), Inbox()
    supervisor = Supervisor(clock=SystemClock(), inbox=inbox, processes=table)
    with no_thread_starts(monkeypatch):
        assert supervisor.adopt(order(tmp_path), CHILD)
        watch = supervisor.get(KEY)
        assert watch is not None
        assert watch.is_deserted
        assert not supervisor.is_idle
    watch.stop("cancelled")
    wait_until(lambda: is_told(supervisor, inbox), 30, "the end is told")
    assert not table.lives
    supervisor.forget(KEY)
    assert supervisor.is_idle


def test_a_child_that_never_found_a_thread_can_be_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = Supervisor(clock=SystemClock(), inbox=Inbox(), processes=Table())
    with no_thread_starts(monkeypatch):
        supervisor.adopt(order(tmp_path), CHILD)
        supervisor.forget(KEY)
    assert supervisor.is_idle


@DIES
@pytest.mark.parametrize(
    ("looks", "ends", "by"),
    [((2,), (), RuntimeError), ((2,), (1,), RuntimeError), ((), (), MemoryError)],
    ids=["a look", "a look and the sweep", "nothing"],
)
def test_whatever_the_thread_of_a_watch_dies_of_the_end_is_told(
    tmp_path: Path, looks: Sequence[int], ends: Sequence[int], by: type[Exception]
) -> None:
    table, inbox = Table(), Inbox()
    supervisor = Supervisor(clock=SystemClock(), inbox=inbox, processes=table)
    table.on_look, table.on_end = fails(*looks, by=by), fails(*ends, by=by)
    assert supervisor.adopt(order(tmp_path), CHILD)
    if not looks:
        table.lives = False
    wait_until(lambda: is_told(supervisor, inbox), 30, "the end is told")
    assert not table.lives
    watch = supervisor.get(KEY)
    assert watch is not None
    assert watch.ending is not None
    fault = "our watch failed: RuntimeError: none left" if looks else ""
    assert (watch.ending.asked, watch.ending.told) == (fault, fault or "the process is gone")
    supervisor.forget(KEY)


def unexpected(error: BaseException) -> None:
    raise error


class Answering:
    """The control socket of a daemon, and its chore that mends it."""

    def __init__(self, stage: Stage, lock: Any) -> None:  # noqa: ANN401 - whatever the lock gives
        self.stage = stage
        self.control = ControlServer(stage.paths.control_socket, lambda _: {"ok": True}, on_fault=unexpected)
        self.doors = Doors(lock, self.control)

    def is_heard(self, *, patience_s: float = 30) -> bool:
        path = self.stage.paths.control_socket
        try:
            return client.call(path, "GET", "/", timeout_s=patience_s) == {"ok": True}
        except TransientError:
            return False


@pytest.fixture
def answering(tmp_path: Path) -> Iterator[Answering]:
    stage = Stage(tmp_path)
    with daemon_lock(stage.paths.daemon_lock) as lock:
        answering = Answering(stage, lock)
        answering.control.start()
        yield answering
        answering.control.stop()
    stage.store.close()


@pytest.mark.parametrize("by", [MemoryError, RuntimeError])
def test_a_caller_without_a_thread_is_turned_away_and_the_next_is_heard(
    answering: Answering, monkeypatch: pytest.MonkeyPatch, by: type[Exception]
) -> None:
    start, refused = threading.Thread.start, list[str]()

    def refuse_once(thread: threading.Thread) -> None:
        if thread.name == "control-call" and not refused:
            refused.append(thread.name)
            raise by("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse_once)
    with pytest.raises(TransientError, match="no thread or no memory to answer with") as told:
        client.call(answering.stage.paths.control_socket, "GET", "/")
    assert (told.value.code, "ulimit -v" in told.value.hint) == ("daemon-short", True)
    assert answering.is_heard()
    assert refused


@DIES
def test_the_thread_that_takes_calls_outlives_want_of_memory_and_comes_back_after_anything_else(
    answering: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    get_request, faults = Server.get_request, [MemoryError("none left"), ValueError("a bug")]

    def fail_twice(server: Server) -> Any:  # noqa: ANN401 - what the original gives
        if faults:
            raise faults.pop(0)
        return get_request(server)

    monkeypatch.setattr(Server, "get_request", fail_twice)
    assert not answering.is_heard(patience_s=1)
    wait_until(lambda: not faults, 30, "want of memory was outlived, and a bug was not")
    with no_thread_starts(monkeypatch):
        answering.doors(answering.stage.shop)
    assert not answering.is_heard(patience_s=1)
    answering.doors(answering.stage.shop)
    assert answering.is_heard()


class Forgetful(Inbox):
    """Has no memory for the first message."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = 0

    def put(self, message: Message) -> None:
        if not self.refused:
            self.refused += 1
            raise MemoryError
        super().put(message)


def test_who_asks_us_to_end_is_heard_once_there_is_memory() -> None:
    inbox = Forgetful()
    with signals.told_to(inbox):
        os.kill(os.getpid(), signal.SIGTERM)
        assert inbox.take(60) == (StopAsked("SIGTERM"),)
        assert inbox.refused == 1
        assert inbox.take(0) == ()


def test_a_daemon_without_threads_comes_back_later_and_says_what_to_do(
    answering: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox = Inbox()
    clockwork = Clockwork(inbox, clock=SystemClock(), poll_s=60)
    other = ControlServer(answering.stage.paths.state / "other.sock", lambda _: {}, on_fault=unexpected)
    with no_thread_starts(monkeypatch):
        for start in (signals.told_to(inbox).__enter__, clockwork.start, other.start):
            with pytest.raises(TransientError, match="thread-unstarted") as caught:
                start()
            assert caught.value.exit_code == ExitCode.LATER
            assert "ulimit" in caught.value.hint
    assert signal.set_wakeup_fd(-1) == -1


def test_the_days_copy_is_made_an_hour_later_where_no_thread_could_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(tmp_path)
    closed, backups = Backups(stage.inbox), Backups(stage.inbox)
    loop = Loop(stage.shop, chores=[backups])
    loop.tick()
    stage.clock.advance(DAY_S)
    with no_thread_starts(monkeypatch):
        Loop(stage.shop, chores=[closed]).tick()
        closed.close()
        loop.tick()
        loop.tick()
    made = stage.paths.state / "backups"
    assert not list(made.glob("*.db"))
    stage.clock.advance(RETRY_MS // 1000 + 1)
    loop.tick()
    assert Woken(SCHEDULE) in stage.inbox.take(60)
    loop.tick()
    assert list(made.glob("*.db"))
    backups.close()
    stage.store.close()
