"""Doors that were taken away are put back, and what is in their way is told once."""

from __future__ import annotations

import json
import socket
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from autopilot.config import logs
from autopilot.daemon.api import client
from autopilot.daemon.api.call import Call
from autopilot.daemon.api.control import ControlServer
from autopilot.daemon.doors import Doors
from autopilot.daemon.lock import daemon_lock
from autopilot.schemas.errors import AutopilotError, ConfigError
from autopilot.schemas.events import Event
from tests.support.clock import FakeClock
from tests.support.shop import Stage
from tests.support.wait import wait_until


class Answers:
    """Answers with the path it was asked for; `/wait` when the test lets it."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.release = threading.Event()

    def __call__(self, call: Call) -> Mapping[str, Any]:
        self.calls.append(call.path)
        if call.path == "/wait":
            self.release.wait(10)
        return {"path": call.path}

    def fault(self, error: BaseException) -> None:
        raise error


@pytest.fixture
def answers() -> Iterator[Answers]:
    answers = Answers()
    yield answers
    answers.release.set()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "control.sock"


@pytest.fixture
def server(path: Path, answers: Answers) -> Iterator[ControlServer]:
    server = ControlServer(path, answers, on_fault=answers.fault)
    server.start()
    yield server
    answers.release.set()
    server.stop()


def _replace(path: Path) -> None:
    path.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(path))


@pytest.mark.parametrize("take_away", [Path.unlink, _replace])
def test_a_socket_that_was_taken_away_is_bound_anew_and_calls_under_way_are_answered(
    path: Path, server: ControlServer, answers: Answers, take_away: Callable[[Path], None]
) -> None:
    assert not server.heal()
    told: list[dict[str, Any]] = []
    waiting = threading.Thread(target=lambda: told.append(client.call(path, "GET", "/wait")))
    waiting.start()
    wait_until(lambda: answers.calls, 10, "the call has come in")
    take_away(path)
    with pytest.raises(AutopilotError):
        client.call(path, "GET", "/v1/health")
    assert server.heal()
    assert not server.heal()
    assert client.call(path, "GET", "/v1/health")["path"] == "/v1/health"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    answers.release.set()
    waiting.join(10)
    assert told == [{"path": "/wait"}]
    server.stop()
    assert not path.exists()


def test_what_is_no_socket_is_left_where_it_is_until_a_person_moves_it(
    path: Path, server: ControlServer
) -> None:
    path.unlink()
    path.write_text("mine")
    for _ in range(2):
        with pytest.raises(ConfigError, match="not a socket of ours"):
            server.heal()
    assert path.read_text() == "mine"
    path.unlink()
    assert server.heal()
    assert client.call(path, "GET", "/v1/health")["path"] == "/v1/health"


def test_both_doors_are_looked_after_and_a_trouble_is_told_once(
    tmp_path: Path, path: Path, server: ControlServer
) -> None:
    stage = Stage(tmp_path)
    logs.setup(stage.paths.logs, clock=FakeClock(), stderr=False, level="info", max_size_mib=1, keep_files=1)
    try:
        with daemon_lock(tmp_path / "daemon.lock") as lock:
            doors = Doors(lock, server)
            doors(stage.shop)
            (tmp_path / "daemon.lock").unlink()
            path.unlink()
            path.mkdir()
            for _ in range(3):
                doors(stage.shop)
            path.rmdir()
            doors(stage.shop)
            doors(stage.shop)
        lines = (stage.paths.logs / "autopilot.jsonl").read_text().splitlines()
        seen = [(line["event"], line["door"]) for line in map(json.loads, lines) if "door" in line]
        assert seen == [
            (Event.DOOR_MENDED, "lock"),
            (Event.DOOR_BROKEN, "socket"),
            (Event.DOOR_MENDED, "socket"),
        ]
    finally:
        stage.store.close()
