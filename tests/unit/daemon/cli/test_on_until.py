"""When a night ends is settled when it is said, however long the look over the machine takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autopilot.config.clock import SystemClock
from autopilot.daemon.cli import doctor as looks
from autopilot.daemon.cli import door, looked, main, starter
from autopilot.schemas.errors import ExitCode

NIGHT_MS = 1_767_250_500_000  # 2026-01-01T06:55Z
MINUTE_MS = 60_000


class Machine:
    """A machine that takes some minutes to be looked over, and says what the switch was told."""

    def __init__(self, *, takes_min: int) -> None:
        self.now_ms, self.takes_min = NIGHT_MS, takes_min
        self.told: list[Any] = []

    def look(self, **_: object) -> tuple[()]:
        self.now_ms += self.takes_min * MINUTE_MS
        return ()

    def ask(self, _method: str, _path: str, body: dict[str, Any], **_: object) -> dict[str, Any]:
        self.told.append(body["until_ms"])
        return {"switch": {"until_ms": body["until_ms"]}}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Machine:
    machine = Machine(takes_min=request.param)
    monkeypatch.setenv("AUTOPILOT_HOME", str(tmp_path))
    (tmp_path / "config.toml").write_text('[schedule]\ntimezone = "UTC"\n')
    monkeypatch.setattr(SystemClock, "now_ms", lambda _: machine.now_ms)
    monkeypatch.setattr(looks, "checks", machine.look)
    monkeypatch.setattr(door, "ask", machine.ask)
    monkeypatch.setattr(starter, "ensure_daemon", lambda: "")
    monkeypatch.setattr(looked, "held", lambda *_: ())
    return machine


@pytest.mark.parametrize("machine", [3], indirect=True)
def test_the_end_is_the_time_that_was_meant(machine: Machine) -> None:
    assert main.run(["on", "--until", "07:00"]) is ExitCode.OK
    assert machine.told == [NIGHT_MS + 5 * MINUTE_MS]


@pytest.mark.parametrize("machine", [6], indirect=True)
def test_one_that_passes_meanwhile_does_not_become_the_one_of_tomorrow(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["on", "--until", "07:00"]) is ExitCode.REFUSED
    assert machine.told == []
    assert "--until 07:00" in capsys.readouterr().err


@pytest.mark.parametrize("machine", [6], indirect=True)
def test_a_length_counts_from_where_the_night_begins(machine: Machine) -> None:
    assert main.run(["on", "--for", "2h"]) is ExitCode.OK
    assert machine.told == [NIGHT_MS + 126 * MINUTE_MS]
