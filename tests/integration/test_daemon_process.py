"""The daemon as a process: how it starts, whom it refuses, and how it ends."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from autopilot.config import procinfo
from autopilot.daemon.api import client
from autopilot.schemas.errors import AutopilotError, ExitCode
from autopilot.schemas.events import Event
from tests.support.daemon import PATIENCE_S, Daemon
from tests.support.shop import CONFIG

QUICK_POLL = "daemon = { poll_s = 0.5, drain_s = 30 }\n"
SLOW_POLL = "daemon = { poll_s = 600, drain_s = 30 }\n"


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path / "home", config=SLOW_POLL + CONFIG)
    yield daemon
    daemon.clean_up()


def refused(daemon: Daemon) -> tuple[int, str]:
    code = daemon.start(is_awaited=False).wait(PATIENCE_S)
    return code, daemon.said()


@pytest.mark.field_report("DMN-007")
def test_a_second_daemon_is_refused_and_told_which_process_holds_the_place(daemon: Daemon) -> None:
    """DMN-007: two processes read the same due row; the night ran twice."""
    first = daemon.start()
    second = Daemon(daemon.home, config=SLOW_POLL + CONFIG)
    code, said = refused(second)
    assert code == ExitCode.REFUSED
    assert f"pid {first.pid}" in said
    assert daemon.call("GET", "/v1/health")["pid"] == first.pid


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_asked_to_stop_with_nothing_running_it_ends_well_and_leaves_no_socket(
    daemon: Daemon, number: signal.Signals
) -> None:
    daemon.start()
    assert stat.S_IMODE(daemon.paths.control_socket.stat().st_mode) == 0o600
    assert daemon.stop(number) == ExitCode.OK
    assert not daemon.paths.control_socket.exists()
    assert [line["event"] for line in daemon.events()][-1] == Event.DAEMON_STOPPED


def test_a_killed_daemon_leaves_nothing_that_stops_the_next(daemon: Daemon) -> None:
    daemon.start()
    daemon.call("POST", "/v1/tickets", title="Fix the sum", repo="shop")
    daemon.kill()
    assert daemon.paths.control_socket.exists()
    daemon.start()
    assert daemon.ticket("T-1")["state"] == "queued"
    assert daemon.stop() == ExitCode.OK


@pytest.mark.field_report("DMN-010")
def test_it_starts_with_the_smallest_environment_a_service_manager_gives(tmp_path: Path) -> None:
    """DMN-010: a service crash-looped because its interpreter was looked for on PATH."""
    daemon = Daemon(tmp_path / "home", config=CONFIG)
    daemon.env = {"HOME": str(tmp_path)}
    daemon.start()
    assert daemon.stop() == ExitCode.OK


def test_what_is_added_is_looked_at_at_once_and_not_at_the_next_poll(daemon: Daemon) -> None:
    daemon.start()
    daemon.call("POST", "/v1/tickets", title="Fix the sum", repo="shop")
    daemon.wait_for_event(Event.HOLD_STARTED, {"hold": "switch-off"})


def test_what_was_written_beside_the_daemon_is_looked_at_on_a_nudge(daemon: Daemon) -> None:
    daemon.start()
    with sqlite3.connect(daemon.paths.database) as conn:
        conn.execute("UPDATE switch SET is_on = 0")
    conn.close()
    assert client.nudge(daemon.paths.control_socket)
    assert daemon.call("GET", "/v1/status")["switch"]["is_on"] is False


def test_a_state_folder_deep_in_the_tree_works(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / ("deep " * 20) / ("ü" * 50), config=CONFIG)
    daemon.start()
    assert daemon.call("GET", "/v1/health")["status"] == "ok"
    assert daemon.stop() == ExitCode.OK


def test_a_state_folder_inside_a_repository_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".git" / "objects").mkdir(parents=True)
    code, said = refused(Daemon(tmp_path / "home", config=CONFIG))
    assert code == ExitCode.CONFIG
    assert "inside the repository" in said


def middle_overwritten(database: Path) -> None:
    with database.open("r+b") as file:
        file.seek(8192)
        file.write(os.urandom(4096))


def emptied(database: Path) -> None:
    os.truncate(database, 0)


def replaced_beside_an_old_log(database: Path) -> None:
    database.with_name("autopilot.db-wal").write_bytes(os.urandom(100_000))
    database.write_bytes(b"this is no database" * 1000)


def gone(database: Path) -> None:
    database.unlink()


@pytest.mark.field_report("DMN-024")
@pytest.mark.parametrize("damage", [middle_overwritten, emptied, replaced_beside_an_old_log, gone])
def test_a_damaged_queue_is_never_taken_for_an_empty_one(
    daemon: Daemon, damage: Callable[[Path], None]
) -> None:
    """DMN-024: an unreadable database showed zero of everything and a green health check."""
    daemon.start()
    for number in range(50):
        daemon.call("POST", "/v1/tickets", title=f"Ticket {number}", body="x" * 500, repo="shop")
    assert daemon.stop() == ExitCode.OK
    damage(daemon.paths.database)
    code, said = refused(daemon)
    assert code == ExitCode.CONFIG
    assert str(daemon.paths.database) in said
    with pytest.raises(AutopilotError):
        daemon.call("GET", "/v1/health")


def test_a_daemon_that_is_older_than_its_queue_ends_and_says_so_and_touches_no_ticket(daemon: Daemon) -> None:
    daemon.start()
    daemon.call("POST", "/v1/tickets", title="Kept", repo="shop")
    assert daemon.stop() == ExitCode.OK
    with closing(sqlite3.connect(daemon.paths.database)) as conn, conn:
        (ours,) = conn.execute("SELECT version_num FROM alembic_version").fetchone()
        conn.execute("UPDATE alembic_version SET version_num = '9999'")
    code, said = refused(daemon)
    assert code == ExitCode.CONFIG
    assert "newer than this program's" in said
    assert "install the newer version again" in said
    with closing(sqlite3.connect(daemon.paths.database)) as conn, conn:
        assert conn.execute("SELECT title FROM tickets").fetchall() == [("Kept",)]
        conn.execute("UPDATE alembic_version SET version_num = ?", (ours,))
    daemon.start()
    assert daemon.ticket("T-1")["state"] == "queued"


def test_it_lets_a_caller_that_never_finishes_wait_no_longer_than_its_own_end(daemon: Daemon) -> None:
    import socket

    daemon.start()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
        silent.connect(str(daemon.paths.control_socket))
        silent.sendall(b"POST /v1/tickets HTTP/1.0\r\nContent-Length: 100\r\n\r\n{")
        assert daemon.stop() == ExitCode.OK


BOOT = procinfo.boot_id()
LEFT = {
    "a: a dead process": ("999999999 5 {boot}\n", "is gone"),
    "b: a stranger that lives": ("{pid} 5 {boot}\n", "is another one by now"),
    "c: an empty file": ("", "names nobody"),
    "d: half a line": ('{{"pid": 12', "cannot be read"),
    "e: an earlier boot": ("{pid} {started} 00000000-0000-0000-0000-000000000000\n", "an earlier boot"),
}


@pytest.mark.field_report("DMN-005")
@pytest.mark.parametrize(("content", "why"), LEFT.values(), ids=LEFT.keys())
def test_whatever_an_earlier_owner_left_it_starts_and_says_why_that_is_none(
    daemon: Daemon, content: str, why: str
) -> None:
    """DMN-005: the recorded pid belonged to something else, and the daemon stood down without a word."""
    if "earlier boot" in why and BOOT is None:
        pytest.skip("this system has no name for a boot")
    stranger = procinfo.look(os.getpid())
    assert stranger is not None
    daemon.paths.ensure()
    daemon.paths.daemon_lock.write_text(
        content.format(pid=os.getpid(), started=stranger.id.started_ms, boot=BOOT or "-")
    )
    process = daemon.start()
    assert why in str(daemon.wait_for_event(Event.LOCK_INHERITED)["why"])
    assert daemon.paths.daemon_lock.read_text().split()[0] == str(process.pid)
    assert daemon.autopilot("daemon", "stop").returncode == 0
    assert process.wait(PATIENCE_S) == ExitCode.OK


@pytest.mark.parametrize("replaced", [False, True])
def test_a_second_daemon_is_refused_though_the_lock_file_is_gone_and_the_file_comes_back(
    tmp_path: Path, *, replaced: bool
) -> None:
    daemon = Daemon(tmp_path / "home", config=QUICK_POLL + CONFIG)
    try:
        first = daemon.start()
        daemon.paths.daemon_lock.unlink()
        if replaced:
            daemon.paths.daemon_lock.write_text("1\n")
        code, said = refused(Daemon(daemon.home, config=QUICK_POLL + CONFIG))
        assert (code, "already runs here" in said) == (ExitCode.REFUSED, True)
        daemon.wait_for_event(Event.DOOR_MENDED, {"door": "lock"})
        code, said = refused(Daemon(daemon.home, config=QUICK_POLL + CONFIG))
        assert (code, f"pid {first.pid}" in said) == (ExitCode.REFUSED, True)
        assert daemon.call("GET", "/v1/health")["pid"] == first.pid
        assert daemon.stop() == ExitCode.OK
    finally:
        daemon.clean_up()


def test_a_control_socket_that_was_removed_is_bound_anew_without_a_restart(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "home", config=QUICK_POLL + CONFIG)
    try:
        process = daemon.start()
        daemon.paths.control_socket.unlink()
        daemon.wait_for_event(Event.DOOR_MENDED, {"door": "socket"})
        assert daemon.call("GET", "/v1/health")["pid"] == process.pid
        assert stat.S_IMODE(daemon.paths.control_socket.stat().st_mode) == 0o600
        assert daemon.stop() == ExitCode.OK
        assert not daemon.paths.control_socket.exists()
    finally:
        daemon.clean_up()
