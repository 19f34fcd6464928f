"""Starts that came to nothing are counted, and the reason of the last is told where a person looks."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.daemon import starts
from autopilot.daemon.starts import failed_starts
from autopilot.schemas.errors import ConfigError, ExitCode, RefusedError
from autopilot.schemas.events import Event
from tests.support.daemon import PATIENCE_S, Daemon
from tests.support.shop import CONFIG
from tests.support.wait import wait_until

ASKED_AT_LAST = """
import select, socket, sys
from autopilot.config.address import short_address
from autopilot.daemon import app, starts
from autopilot.daemon.cli.main import run

class Asked:
    def __getattr__(self, name):
        return getattr(starts, name)

    def is_up(self, paths):
        with socket.socket(socket.AF_UNIX) as caller, short_address(paths.control_socket) as address:
            caller.connect(address)
            caller.sendall(b"GET /v1/health HTTP/1.0\\r\\n\\r\\n")
            if select.select([caller], [], [], 0.5)[0]:
                assert b'"ok"' not in caller.recv(65536), "it says that it is up before it is"
        starts.is_up(paths)

app.starts = Asked()
sys.exit(run(["daemon", "run"]))
"""
"""A daemon that somebody asks before the last step of its start."""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path / "home", config=CONFIG)
    daemon.paths.ensure()
    yield daemon
    daemon.clean_up()


def fails(daemon: Daemon) -> int:
    return daemon.start(is_awaited=False).wait(PATIENCE_S)


@pytest.mark.field_report("DMN-047")
def test_status_and_doctor_say_how_often_it_failed_to_start_and_why_until_it_comes_up(daemon: Daemon) -> None:
    daemon.paths.control_socket.write_text("in the way")
    for _ in range(2):
        assert fails(daemon) == ExitCode.CONFIG
    told = daemon.autopilot("status")
    assert "failed to start 2 times" in told.stdout
    assert "is not a socket of ours" in told.stdout
    assert "→ move it away" in told.stdout
    assert json.loads(daemon.autopilot("status", "--json").stdout)["failed_starts"]["count"] == 2
    assert "failed to start 2 times" in daemon.autopilot("doctor").stdout
    daemon.paths.control_socket.unlink()
    daemon.start()
    assert daemon.call("GET", "/v1/status")["failed_starts"] is None
    assert "failed to start" not in daemon.autopilot("status").stdout


def test_a_configuration_that_cannot_be_read_and_a_damaged_queue_count_too(daemon: Daemon) -> None:
    daemon.paths.config_file.write_text("no = such key")
    assert fails(daemon) == ExitCode.CONFIG
    daemon.paths.config_file.write_text(CONFIG)
    daemon.paths.database.write_bytes(b"not a database at all, but long enough to be looked at" * 100)
    assert fails(daemon) == ExitCode.CONFIG
    known = failed_starts(daemon.paths)
    assert known is not None
    assert known.count == 2
    assert "autopilot.db" in known.reason


def test_a_daemon_that_was_killed_before_it_was_ready_has_left_that_much(daemon: Daemon) -> None:
    starts.begin(daemon.paths, SystemClock())
    known = failed_starts(daemon.paths)
    assert known is not None
    assert (known.count, known.pid, "without a word" in known.reason) == (1, os.getpid(), True)


def test_that_another_daemon_runs_is_no_failure(daemon: Daemon) -> None:
    daemon.start()
    second = Daemon(daemon.home, config=CONFIG)
    assert fails(second) == ExitCode.REFUSED
    assert failed_starts(daemon.paths) is None


def test_a_daemon_that_ends_badly_later_did_not_fail_to_start(daemon: Daemon) -> None:
    process = daemon.start()
    os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: process.poll() is not None, 20, "it is gone")
    assert failed_starts(daemon.paths) is None


def test_a_daemon_that_says_it_is_up_has_its_start_behind_it(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "h", config=CONFIG, argv=("-c", ASKED_AT_LAST))
    try:
        daemon.start()
        daemon.kill()
        assert failed_starts(daemon.paths) is None
        assert [line["event"] for line in daemon.events()][-1] == Event.DAEMON_READY
    finally:
        daemon.clean_up()


@pytest.mark.parametrize("content", ["", "{", '{"count": 0}', "[]"])
def test_a_file_that_cannot_be_read_says_nothing_and_is_written_anew(daemon: Daemon, content: str) -> None:
    daemon.paths.failed_starts.write_text(content)
    assert failed_starts(daemon.paths) is None
    with pytest.raises(ConfigError), starts.counted(daemon.paths, SystemClock()):
        raise ConfigError("some-fault", "it is\nbroken", hint="mend it")
    with pytest.raises(RefusedError), starts.counted(daemon.paths, SystemClock()):
        raise RefusedError("daemon-running", "another runs")
    known = failed_starts(daemon.paths)
    assert known is not None
    assert (known.count, known.reason, known.hint) == (1, "it is broken", "mend it")
