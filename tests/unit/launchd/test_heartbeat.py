"""What the init system hears of the daemon, and the watchdog where it has none."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.launchd import heartbeat
from autopilot.launchd.service import MARK
from tests.support.clock import FakeClock
from tests.support.tree import ROOT
from tests.support.wait import wait_until


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """A socket as systemd's."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as conn:
        conn.bind(str(tmp_path / "notify"))
        conn.settimeout(5)
        yield conn


def heart(manager: socket.socket, **more: str) -> heartbeat.Heartbeat:
    return heartbeat.find({"NOTIFY_SOCKET": manager.getsockname(), **more}, FakeClock())


def said(manager: socket.socket) -> list[str]:
    return manager.recv(4096).decode().split("\n")


def test_systemd_hears_ready_each_beat_and_the_time_that_a_drain_takes(manager: socket.socket) -> None:
    beating = heart(manager, WATCHDOG_USEC="90000000")
    beating.ready("version 1 is ready")
    assert said(manager) == ["READY=1", "STATUS=version 1 is ready"]
    beating.beat("2 under way")
    assert said(manager) == ["WATCHDOG=1", "STATUS=2 under way"]
    beating.stopping(60)
    assert said(manager) == ["STOPPING=1", "WATCHDOG=1", "EXTEND_TIMEOUT_USEC=65000000", "STATUS=draining"]
    assert beating.longest_wait_s == 30


@pytest.mark.parametrize("patience", [("", ""), ("90000000", "1"), ("x", "")])
def test_without_a_watchdog_of_ours_the_loop_may_wait(
    manager: socket.socket, patience: tuple[str, str]
) -> None:
    watched = dict(zip(("WATCHDOG_USEC", "WATCHDOG_PID"), patience, strict=True))
    assert heart(manager, **watched).longest_wait_s == float("inf")


def test_an_abstract_address_is_spoken_to() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as conn:
        conn.bind("")  # the kernel chooses an abstract one
        conn.settimeout(5)
        heartbeat.find({"NOTIFY_SOCKET": f"@{conn.getsockname()[1:].decode()}"}, FakeClock()).beat("x")
        assert conn.recv(100) == b"WATCHDOG=1\nSTATUS=x"


def test_a_manager_that_is_gone_or_hears_nothing_more_ends_nobody(manager: socket.socket) -> None:
    beating = heart(manager)
    for _ in range(2000):  # more than a socket holds
        beating.beat("x")
    manager.close()
    beating.beat("x")


def test_in_a_terminal_nobody_is_told() -> None:
    silence = heartbeat.find({}, FakeClock())
    silence.ready("x")
    silence.beat("x")
    silence.stopping(1)
    assert silence.longest_wait_s == float("inf")


def test_launchd_has_no_watchdog_so_that_we_bring_one() -> None:
    found = heartbeat.find({MARK: "launchd"}, FakeClock())
    assert isinstance(found, heartbeat.OwnWatchdog)
    assert found.longest_wait_s == 30


def test_our_own_watchdog_ends_a_loop_that_stands_and_leaves_one_that_moves() -> None:
    clock, ended = FakeClock(), []
    watchdog = heartbeat.OwnWatchdog(90, clock=clock, end=lambda: ended.append(clock.monotonic_s()))
    watchdog.look()  # before it serves there is nothing to watch
    for _ in range(10):
        watchdog.beat("x")
        clock.advance(80)
        watchdog.look()
    watchdog.stopping(60)
    clock.advance(80)
    watchdog.look()
    assert ended == []
    clock.advance(20)
    watchdog.look()
    assert len(ended) == 1


def test_our_own_watchdog_looks_by_itself() -> None:
    clock, ended = FakeClock(), []
    watchdog = heartbeat.OwnWatchdog(0.06, clock=clock, end=lambda: ended.append(1))
    watchdog.ready("x")
    clock.advance(1)
    wait_until(lambda: ended, 20, "it looks")


def test_a_process_that_our_own_watchdog_ends_leaves_where_every_thread_stood() -> None:
    stands = (
        "import threading\n"
        "from autopilot.config.clock import SystemClock\n"
        "from autopilot.launchd import heartbeat\n"
        "watchdog = heartbeat.OwnWatchdog(0.1, clock=SystemClock(), end=heartbeat._end_at_once)\n"
        "watchdog.ready('x')\n"
        "threading.Event().wait()\n"
    )
    env = {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-P", "-c", stands], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 70
    assert "most recent call first" in done.stderr
    assert 'File "<string>", line 6' in done.stderr
