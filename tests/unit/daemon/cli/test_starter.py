"""Whether a daemon is there for the night: one that is on its way out is not."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from autopilot.config import proc
from autopilot.config.clock import SystemClock
from autopilot.config.paths import Paths
from autopilot.config.proc import ProcessId
from autopilot.daemon.api import client
from autopilot.daemon.cli import starter
from autopilot.schemas.errors import ExitCode, TransientError


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[object]:
    """What was started instead of a daemon."""
    made: list[object] = []
    monkeypatch.setenv("AUTOPILOT_HOME", str(tmp_path))
    monkeypatch.setattr(starter, "WAIT_S", 0.2)
    monkeypatch.setattr(starter, "POLL_S", 0.01)
    monkeypatch.setattr(starter, "start_daemon", lambda paths, *_rest: made.append(paths))
    return made


def answering(monkeypatch: pytest.MonkeyPatch, answers: Iterator[bool | None]) -> None:
    """Let the socket say whether the daemon drains; None = nobody is there."""

    def call(*_args: object, **_named: object) -> Mapping[str, bool]:
        is_draining = next(answers)
        if is_draining is None:
            raise client.DaemonAwayError("daemon-away", "no daemon listens", hint="autopilot on")
        return {"is_draining": is_draining}

    monkeypatch.setattr(client, "call", call)


def test_a_daemon_that_stays_is_kept(monkeypatch: pytest.MonkeyPatch, started: list[object]) -> None:
    answering(monkeypatch, iter([False]))
    assert starter.ensure_daemon() == ""
    assert started == []


def test_the_end_of_a_draining_daemon_is_awaited_and_another_is_started(
    monkeypatch: pytest.MonkeyPatch, started: list[object]
) -> None:
    answering(monkeypatch, iter([True, True, None]))
    assert starter.ensure_daemon() == "terminal"
    assert len(started) == 1


@pytest.mark.field_report("DMN-019")
@pytest.mark.parametrize("was_there", [True, False])
def test_a_daemon_in_whose_place_another_version_lies_is_ended_and_another_is_started(
    monkeypatch: pytest.MonkeyPatch, started: list[object], *, was_there: bool
) -> None:
    """It may end by itself in between: a service's does."""
    ended: list[object] = []
    monkeypatch.setattr(client, "call", lambda *_args, **_named: {"is_draining": False, "is_replaced": True})

    def stop(paths: Path) -> bool:
        ended.append(paths)
        return was_there

    monkeypatch.setattr(starter, "stop_daemon", stop)
    assert starter.ensure_daemon() == "terminal"
    assert (len(ended), len(started)) == (1, 1)


@pytest.mark.field_report("DMN-019")
def test_a_daemon_that_drains_already_is_not_asked_a_second_time_but_woken_to_see_its_new_version(
    monkeypatch: pytest.MonkeyPatch, started: list[object]
) -> None:
    """Stop, upgrade, on: the second time it would end the run that it waits for."""
    answers = iter([True, True])
    nudged: list[object] = []

    def call(*_args: object, **_named: object) -> Mapping[str, bool]:
        if next(answers, None) is None:
            raise client.DaemonAwayError("daemon-away", "no daemon listens", hint="autopilot on")
        return {"is_draining": True, "is_replaced": True}

    monkeypatch.setattr(client, "call", call)
    monkeypatch.setattr(client, "nudge", nudged.append)
    monkeypatch.setattr(starter, "stop_daemon", lambda _paths: pytest.fail("it was asked a second time"))
    assert starter.ensure_daemon() == "terminal"
    assert (len(nudged), len(started)) == (2, 1)


def test_a_daemon_that_ends_before_it_is_asked_to_is_gone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    child = subprocess.Popen(["true"])
    gone = ProcessId(child.pid, 1)
    child.wait()
    monkeypatch.setattr(starter, "_running", lambda _paths: gone)
    paths = Paths(state=tmp_path, config_file=tmp_path / "config.toml", logs=tmp_path)
    assert starter.stop_daemon(paths) is True


class Refused:
    """A daemon that found another one in its place."""

    id = ProcessId(1, 1)

    def poll(self) -> int:
        return ExitCode.REFUSED


def start_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, statuses: Iterator[str]) -> object:
    """Start one that is refused, while the other answers so; it is away once they are told."""

    def call(*_args: object, **_named: object) -> Mapping[str, str]:
        if not (status := next(statuses, "")):
            raise client.DaemonAwayError("daemon-away", "no daemon listens", hint="autopilot on")
        return {"status": status}

    monkeypatch.setattr(starter, "WAIT_S", 0.2)
    monkeypatch.setattr(starter, "POLL_S", 0.01)
    monkeypatch.setattr(client, "call", call)
    monkeypatch.setattr(proc, "spawn", lambda *_args, **_named: Refused())
    monkeypatch.setattr(proc, "kill_tree", lambda *_args, **_named: None)
    paths = Paths(state=tmp_path, config_file=tmp_path / "config.toml", logs=tmp_path)
    return starter.start_daemon(paths, {}, SystemClock())


def test_of_two_that_are_started_at_once_the_one_that_stays_is_awaited(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The other `on` said that no daemon came up, and did not turn on."""
    assert start_one(monkeypatch, tmp_path, statuses=iter(["", "", "", "ok"]))


def test_one_that_holds_the_place_and_never_answers_is_not_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(TransientError) as caught:
        start_one(monkeypatch, tmp_path, statuses=iter(()))
    assert caught.value.code == "daemon-not-up"


def test_a_daemon_that_drains_for_long_is_no_promise_of_a_night(
    monkeypatch: pytest.MonkeyPatch, started: list[object]
) -> None:
    answering(monkeypatch, iter([True] * 1000))
    with pytest.raises(TransientError) as caught:
        starter.ensure_daemon()
    assert (caught.value.code, started) == ("daemon-draining", [])
