"""The demonstration believes only what the commands told, and fails when one ticket ended otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autopilot.daemon.cli import demo
from autopilot.daemon.demo.stage import EXPECTED, Stage
from autopilot.schemas.errors import ExitCode

PAGE = "local://till/pull/1"


def ended(**changes: dict[str, Any]) -> dict[str, dict[str, Any]]:
    tickets = {
        name: {"id": name, "state": state, "waiting_for": waits, "pr_url": None, "reason": "", "hint": ""}
        for name, (state, waits) in EXPECTED.items()
    }
    tickets["T-1"]["pr_url"] = PAGE
    return {name: ticket | changes.get(name.replace("-", ""), {}) for name, ticket in tickets.items()}


def judged(folder: Path, tickets: dict[str, dict[str, Any]]) -> ExitCode:
    stage = Stage(folder, folder / "till.git", folder / "programs", ())
    return demo._judge(tickets, EXPECTED, stage)  # noqa: SLF001 - the verdict


def test_a_night_as_it_should_be_ends_well_and_names_the_draft(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judged(tmp_path, ended()) is ExitCode.OK
    assert f"Draft pull request: {PAGE}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "otherwise"),
    [
        ("T1", {"state": "parked", "waiting_for": "breaker"}),
        ("T1", {"state": "running"}),
        ("T2", {"state": "published", "waiting_for": None}),
        ("T2", {"waiting_for": "budget"}),
        ("T3", {"waiting_for": "no-changes"}),
        ("T3", {"state": "failed", "waiting_for": None}),
    ],
)
def test_one_ticket_that_ended_otherwise_fails_the_demonstration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, otherwise: dict[str, Any]
) -> None:
    assert judged(tmp_path, ended(**{name: otherwise})) is ExitCode.FAILED
    told = capsys.readouterr().out
    assert f"✗ {name[0]}-{name[1]} should be" in told
    assert "Draft pull request" not in told


def test_a_ticket_that_is_gone_fails_the_demonstration(tmp_path: Path) -> None:
    tickets = ended()
    del tickets["T-3"]
    assert judged(tmp_path, tickets) is ExitCode.FAILED
