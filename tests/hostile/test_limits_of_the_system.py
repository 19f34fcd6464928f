"""Too few descriptors or processes: a hold or another try, no busy loop and no lost ticket."""

from __future__ import annotations

import resource
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from autopilot.config.journal import read_lines
from autopilot.config.logs import LOG_FILE, setup
from autopilot.config.proc import SpawnError
from autopilot.daemon.api import client
from autopilot.daemon.loop import Loop
from autopilot.daemon.store import writes
from autopilot.schemas.errors import AutopilotError, ExitCode, TransientError
from autopilot.schemas.events import Event
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.daemon import Daemon
from tests.support.house import House
from tests.support.shop import CONFIG, Stage
from tests.support.wait import wait_until

LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="limits of another process can be set on Linux only"
)
CALLERS = 200
STREAMS = 3
QUIET_CPU_S = 5.0
MAX_LINES = 300


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path / "home", config="daemon = { poll_s = 1 }\n" + CONFIG)
    yield daemon
    daemon.clean_up()


@contextmanager
def without_descriptors(process: psutil.Process) -> Iterator[None]:
    """Inside the block it can open nothing: the three numbers below the limit are its streams."""
    before = process.rlimit(resource.RLIMIT_NOFILE)
    process.rlimit(resource.RLIMIT_NOFILE, (STREAMS, before[1]))
    try:
        yield
    finally:
        process.rlimit(resource.RLIMIT_NOFILE, before)


def cpu_s(process: psutil.Process) -> float:
    used = process.cpu_times()
    return used.user + used.system


def callers(daemon: Daemon, stack: ExitStack, *, saying: bytes) -> list[socket.socket]:
    """As many as are let in; each says so much and then nothing."""
    found = []
    for _ in range(CALLERS):
        caller = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        caller.setblocking(False)
        with suppress(BlockingIOError):
            caller.connect(str(daemon.paths.control_socket))
            found.append(caller)
            with suppress(OSError):
                caller.send(saying)
    return found


def answers(daemon: Daemon) -> bool:
    with suppress(AutopilotError):
        return bool(daemon.call("GET", "/v1/health")["status"] == "ok")
    return False


@pytest.mark.parametrize(
    "saying",
    [
        b"",
        b"POST /v1/tickets HTTP/1.0\r\nContent-Le",
        b"POST /v1/tickets HTTP/1.0\r\nContent-Length: 10000000\r\n\r\n" + b"x" * 4096,
        bytes(range(256)) * 16,
    ],
    ids=["idle", "half a request", "ten megabytes", "binary"],
)
def test_callers_who_mean_no_good_neither_stop_the_daemon_nor_keep_others_out(
    daemon: Daemon, saying: bytes
) -> None:
    daemon.start()
    with ExitStack() as stack:
        callers(daemon, stack, saying=saying)
        wait_until(lambda: answers(daemon), 60, "an honest caller is answered")
        added = daemon.call("POST", "/v1/tickets", title="Honest", repo="shop")
        assert added["ticket"]["id"] == "T-1"
    assert daemon.stop() == ExitCode.OK
    assert len(list(daemon.events())) < MAX_LINES


@LINUX
def test_a_daemon_without_descriptors_waits_quietly_and_goes_on_when_it_has_some(daemon: Daemon) -> None:
    process = psutil.Process(daemon.start().pid)
    daemon.call("POST", "/v1/tickets", title="Kept", repo="shop")
    before_s = cpu_s(process)
    with ExitStack() as stack:
        with without_descriptors(process):
            callers(daemon, stack, saying=b"")
            said = daemon.wait_for_event(Event.TICK_FAILED)
            assert "Too many open files" in said["error"]
            for _ in range(3):
                with pytest.raises(TransientError, match="daemon-silent"):
                    client.call(daemon.paths.control_socket, "GET", "/v1/health", timeout_s=1)
            assert process.is_running()
            assert cpu_s(process) - before_s < QUIET_CPU_S
        wait_until(lambda: answers(daemon), 60, "it answers again")
    assert len(list(daemon.events())) < MAX_LINES
    assert daemon.ticket("T-1")["title"] == "Kept"
    assert daemon.stop() == ExitCode.OK


@LINUX
@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_night_without_descriptors_for_a_while_claims_nothing_then_and_ends_with_one_draft(
    tmp_path: Path,
) -> None:
    house = House(tmp_path, settings="daemon = { poll_s = 1 }\n")
    try:
        daemon = house.daemon.start()
        name = house.add()
        with without_descriptors(psutil.Process(daemon.pid)), closing(house.daemon.store()) as store:
            writes.turn_on(store, by="test", ignore_window=True)
            said = house.daemon.wait_for_event(Event.TICK_FAILED)
            assert "Too many open files" in said["error"]
            ticket = queue.look(store, name)
            assert (ticket.state, ticket.attempts, ticket.releases) == (State.QUEUED, 0, 0)
        assert house.daemon.wait_for_state(name, "published")["attempts"] == 1
        assert house.count(Event.AGENT_STARTED) == 1
        assert len(house.pull_requests()) == 1
        assert len(list(house.daemon.events())) < MAX_LINES
        assert daemon.poll() is None
        house.assert_in_order()
    finally:
        house.clean_up()


def test_a_machine_that_can_start_nothing_holds_says_why_in_few_lines_and_goes_on(tmp_path: Path) -> None:
    stage = Stage(tmp_path, config="backoff_s = 1\n")
    writes.turn_on(stage.store, by="test")
    stage.supervisor.fault = lambda _: SpawnError("spawn-failed", "Resource temporarily unavailable")
    queue.add(stage.store)
    loop = Loop(stage.shop)
    with setup(stage.paths.logs, clock=stage.clock, stderr=False, max_size_mib=1, keep_files=2):
        for _ in range(400):
            loop.tick()
            stage.clock.advance(150)
        ticket = queue.look(stage.store, "T-1")
        assert (ticket.state, ticket.attempts) == (State.QUEUED, 0)
        assert "Resource temporarily unavailable" in ticket.reason
        assert stage.hold_names() == {"breaker-open"}
        assert len(stage.supervisor.launches) < 10
        assert len(read_lines(stage.paths.logs / LOG_FILE).entries) < MAX_LINES
        stage.supervisor.fault = lambda _: None
        stage.clock.advance(4 * 3600)
        loop.tick()
        assert stage.state() is State.RUNNING
    stage.store.close()
