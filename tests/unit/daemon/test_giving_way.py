"""When a daemon does nothing more because another version lies in its place, and when it goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

import autopilot
from autopilot.config import installed
from autopilot.daemon.giving_way import SETTLED_S, GivingWay
from autopilot.daemon.inbox import StopAsked
from autopilot.daemon.loop import Loop
from autopilot.daemon.store import queries_host
from autopilot.launchd.service import MARK
from autopilot.schemas.errors import TransientError
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.clock import FakeClock
from tests.support.shop import Stage

INSTALLED = "another version was installed below this daemon, which does nothing more; what runs goes on"
TAKEN = "the program was taken away below this daemon, which does nothing more; what runs goes on"


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the program be an installed one that a service keeps, and give its record."""
    record = tmp_path / "autopilotd-1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("")
    monkeypatch.setattr(autopilot, "__path__", [str(tmp_path / "autopilot")])
    monkeypatch.setenv("AUTOPILOT_PROGRAM", "")
    monkeypatch.setenv(MARK, "systemd")
    installed.note()
    return record


def put_away(record: Path) -> Path:
    """Do as pip does with what it is about to replace."""
    return record.parent.rename(record.parent.with_name("~utopilotd-1.0.dist-info"))


def put_another(record: Path) -> None:
    put_away(record)
    record.parent.mkdir()
    record.write_text("of another version")


def test_what_is_gone_is_told_as_gone_with_a_cure_that_can_be_typed(record: Path) -> None:
    clock = FakeClock()
    way = GivingWay(clock)
    put_away(record)
    since_ms = clock.now_ms()
    for _ in range(3):
        hold = way.look()
        assert hold is not None
        assert (hold.cause, hold.since_ms) == (TAKEN, since_ms)
        assert hold.cure == "install autopilot again; then autopilot on"
        clock.advance(SETTLED_S)


def test_a_service_ends_once_the_new_version_has_settled(record: Path) -> None:
    clock = FakeClock()
    way = GivingWay(clock)
    put_another(record)
    hold = way.look()
    assert hold is not None
    assert (hold.cause, hold.cure) == (INSTALLED, "autopilot on")
    clock.advance(SETTLED_S)
    with pytest.raises(TransientError, match="another version of autopilot was installed"):
        way.look()


def test_an_installation_that_fails_and_is_taken_back_leaves_the_daemon_as_it_was(
    stage: Stage, record: Path
) -> None:
    """It held itself all night, and `on` saw nothing to start anew."""
    queue.add(stage.store)
    loop = Loop(stage.shop)
    away = put_away(record)
    loop.tick()
    with stage.store.read() as conn:
        assert [hold.name for hold in queries_host.holds(conn)] == ["program-replaced"]
    assert stage.state() is State.QUEUED
    away.rename(record.parent)
    loop.tick()
    assert stage.state() is State.RUNNING
    with stage.store.read() as conn:
        assert queries_host.holds(conn) == ()


def test_an_end_that_is_asked_for_twice_leaves_what_runs_to_the_new_version(
    stage: Stage, record: Path
) -> None:
    """Two `on` at once, or one beside a drain: the second stopped what the first had left running."""
    queue.add(stage.store)
    loop = Loop(stage.shop)
    loop.tick()
    loop.tick([StopAsked("SIGTERM")])
    put_another(record)
    loop.tick([StopAsked("SIGTERM")])
    assert stage.supervisor.watch(stage.claim_of("T-1").attempt.run_id).stops == []
    assert loop.is_done
