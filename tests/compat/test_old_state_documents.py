"""A state document of every released version still loads, and means what it meant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autopilot.runner.state import merge_state, read_state
from autopilot.schemas.agent_state import AgentState, parse_state
from tests.support.tree import ROOT

DOCUMENTS = ROOT / "tests" / "compat" / "documents"
VERSIONS = ("2.0.0", "2.1.0")


def old_document(version: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((DOCUMENTS / f"agent-state-{version}.json").read_text("utf-8"))
    return document


def loaded(document: dict[str, Any]) -> AgentState:
    return parse_state(json.dumps(document).encode())


def written(state: AgentState) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(state.to_json())
    return document


@pytest.mark.covers("O04")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_old_document_is_read_and_written_as_the_present_version(version: str) -> None:
    document = written(loaded(old_document(version)))
    assert document["schemaVersion"] == "3.0.0"
    assert written(loaded(document)) == document


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_but_phase_numbers_changes_when_an_old_document_is_read(version: str) -> None:
    renumbered = {
        "schemaVersion",
        "currentPhase",
        "phases",
        "haltReason",
        "telemetry",
        "circuitBreaker",
        "pendingSteer",
    }
    old = {key: value for key, value in old_document(version).items() if key not in renumbered}
    new = {
        key: value for key, value in written(loaded(old_document(version))).items() if key not in renumbered
    }
    assert new == old


@pytest.mark.covers("O11", "E07")
def test_every_phase_number_of_an_old_document_is_translated() -> None:
    state = loaded(old_document("2.0.0"))
    assert state.current_phase == 3
    assert state.halt_reason == "3:circuit-breaker:identical-finding"
    assert state.circuit_breaker is not None
    assert state.circuit_breaker.checkpoint is not None
    assert (state.circuit_breaker.checkpoint.phase, state.circuit_breaker.checkpoint.step) == (3, "3.8")
    assert state.telemetry is not None
    assert [call.phase for call in state.telemetry.mcp_calls] == [1]
    assert [call.phase for call in state.telemetry.skill_calls] == [2]
    steered = loaded(old_document("2.1.0"))
    assert steered.current_phase == 5
    assert steered.pending_steer is not None
    assert steered.pending_steer.applied_phase == 2


@pytest.mark.parametrize(("old", "new"), [(0, 0), (1, 1), (2, 1), (3, 2), (4, 3), (5, 3), (6, 4), (7, 5)])
def test_eight_phases_become_six(old: int, new: int) -> None:
    assert loaded({**old_document("2.1.0"), "currentPhase": old}).current_phase == new


@pytest.mark.covers("O29")
def test_two_old_phases_that_become_one_keep_what_both_recorded() -> None:
    phases = loaded(old_document("2.0.0")).phases
    assert sorted(phases) == ["0", "1", "2", "3"]
    plan = phases["1"]
    assert plan.status == "done"
    assert plan.started_at == "2026-02-03T22:00:40Z"
    assert plan.finished_at == "2026-02-03T22:09:00Z"
    assert plan.files == ("analysis.md", "plan.md")
    assert plan.notes == "analysis written\nplan written"
    assert plan.plan_iterations == 1


@pytest.mark.parametrize(
    ("review", "test", "current", "expected"),
    [
        ("done", "done", 6, "done"),
        ("done", "in_progress", 5, "in_progress"),
        ("done", None, 4, "in_progress"),
        ("done", None, 6, "done"),
        ("in_progress", None, 4, "in_progress"),
        ("failed", None, 4, "failed"),
        ("done", "failed", 5, "failed"),
        ("skipped", "skipped", 6, "skipped"),
        ("done", "skipped", 6, "done"),
        ("pending", "pending", 3, "pending"),
    ],
)
def test_a_joined_phase_is_finished_only_when_both_halves_were(
    review: str, test: str | None, current: int, expected: str
) -> None:
    halves = {"4": {"status": review}} | ({"5": {"status": test}} if test else {})
    document = {
        **old_document("2.1.0"),
        "currentPhase": current,
        "phases": {"0": {"status": "done"}, **halves},
    }
    assert loaded(document).phases["3"].status == expected


def test_an_unfinished_joined_phase_has_no_end() -> None:
    halves = {"4": {"status": "done", "finishedAt": "2026-03-01T09:00:00Z"}, "5": {"status": "in_progress"}}
    document = {**old_document("2.1.0"), "currentPhase": 5, "phases": halves}
    assert loaded(document).phases["3"].finished_at is None


def test_a_halt_reason_without_a_phase_gets_the_one_that_was_entered_last() -> None:
    document = {**old_document("2.1.0"), "currentPhase": 6, "haltReason": "the lock was lost"}
    assert loaded(document).halt_reason == "4:the lock was lost"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"currentPhase": 8}, "currentPhase"),
        ({"currentPhase": "3"}, "currentPhase"),
        ({"currentPhase": True}, "currentPhase"),
        ({"phases": {"8": {}}}, "phases.8"),
        ({"phases": []}, "phases"),
        (
            {"circuitBreaker": {"tripped": True, "checkpoint": {"phase": 9}}},
            "circuitBreaker.checkpoint.phase",
        ),
        ({"telemetry": {"mcpCalls": [{"tool": "x", "phase": 8}]}}, "telemetry.mcpCalls"),
    ],
)
def test_a_number_that_was_never_a_phase_is_refused_by_its_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(ValueError, match=field.replace(".", r"\.")):
        loaded({**old_document("2.1.0"), **change})


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_key_is_refused_in_an_old_document_too(version: str) -> None:
    with pytest.raises(ValueError, match="surprise"):
        loaded({**old_document(version), "surprise": 1})


def test_a_document_of_a_newer_program_is_refused() -> None:
    with pytest.raises(ValueError, match="schemaVersion"):
        loaded({**old_document("2.1.0"), "schemaVersion": "4.0.0"})


@pytest.mark.parametrize("version", VERSIONS)
def test_an_old_file_can_be_carried_on(version: str, tmp_path: Path) -> None:
    path = tmp_path / "agent-state.json"
    path.write_text(json.dumps(old_document(version)), encoding="utf-8")
    seen = read_state(path)
    changed = merge_state(path, {"status": "in_progress"}, seen_rev=seen.rev)
    assert changed.rev == seen.rev + 1
    assert read_state(path) == changed
