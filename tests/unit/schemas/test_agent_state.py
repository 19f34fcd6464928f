from __future__ import annotations

import json
from typing import Any

import pytest

from autopilot.schemas.agent_state import parse_state
from tests.support.state_documents import REQUIRED, refused, state


@pytest.mark.covers("O03")
@pytest.mark.parametrize("key", sorted(REQUIRED))
def test_each_of_the_eleven_required_keys_is_missed(key: str) -> None:
    assert len(REQUIRED) == 11
    state()
    document = {name: value for name, value in REQUIRED.items() if name != key}
    with pytest.raises(ValueError, match=key):
        parse_state(json.dumps(document).encode())


@pytest.mark.covers("O02")
def test_an_unknown_key_at_the_root_is_refused_by_name() -> None:
    refused("surprise", surprise=1)


@pytest.mark.parametrize(
    ("field", "part"),
    [
        ("circuitBreaker", {"tripped": True, "surprise": 1}),
        ("pendingSteer", {"text": "x", "at": "2026-01-02T22:00:00Z", "surprise": 1}),
        ("identity", {"name": "Ada", "email": "a@b", "surprise": 1}),
        ("phases", {"0": {"surprise": 1}}),
        ("commit", {"sha": "1234567", "surprise": 1}),
        ("githubIssue", {"owner": "o", "repo": "r", "number": 1, "surprise": 1}),
        ("maturity", {"surprise": 1}),
    ],
)
def test_a_closed_part_refuses_an_unknown_key(field: str, part: dict[str, Any]) -> None:
    refused("surprise", **{field: part})


@pytest.mark.parametrize(
    ("field", "part"),
    [
        ("telemetry", {"mcpCalls": [], "surprise": 1}),
        ("baseline", {"tests": {"status": "green", "surprise": 1}}),
        ("reviewIterations", [{"iteration": 1, "surprise": {"deep": [1, None]}}]),
        ("diffRisk", {"files": 1, "loc_added": 2, "surprise": 1}),
    ],
)
def test_a_part_that_grows_keeps_keys_it_does_not_know(field: str, part: object) -> None:
    assert json.loads(state(**{field: part}).to_json())[field] == part


@pytest.mark.covers("O06")
def test_an_issue_needs_owner_repository_and_a_number_from_one() -> None:
    issue = {"owner": "acme", "repo": "bill", "number": 316}
    state(githubIssue=issue, jiraId="PROJ-1")
    state(githubIssue=None, jiraId=None)
    for key in issue:
        refused("githubIssue", githubIssue={name: value for name, value in issue.items() if name != key})
    refused("githubIssue", githubIssue={**issue, "number": 0})
    refused("shortId", shortId=0)
    refused("taskId", taskId="")


@pytest.mark.covers("O07", "O08")
def test_where_the_work_lies_is_recorded_and_no_worktree_is_a_value() -> None:
    assert state(worktreePath=None, projectRoot="/srv/bill").worktree_path is None
    assert state(worktreePath="/srv/wt").worktree_path == "/srv/wt"
    refused("branch", branch=None)
    refused("baseBranch", baseBranch=7)


@pytest.mark.covers("O09")
@pytest.mark.parametrize("source", ["asked", "input", "remembered", "default", "derived"])
def test_the_base_branch_has_one_of_five_sources(source: str) -> None:
    assert state(baseBranchSource=source).base_branch_source == source
    refused("baseBranchSource", baseBranchSource=f"{source}-ish")


@pytest.mark.covers("O10")
def test_the_remote_is_of_a_kind_that_publishing_supports() -> None:
    assert state(remoteType="github").remote_type == "github"
    assert state(remoteType="bitbucket").remote_type == "bitbucket"
    refused("remoteType", remoteType="gitlab")


@pytest.mark.covers("O11")
@pytest.mark.parametrize("phase", [-1, 6, 7, "2", 2.5, None])
def test_the_present_phase_is_a_number_from_nought_to_five(phase: object) -> None:
    assert state(currentPhase=0).current_phase == 0
    assert state(currentPhase=5).current_phase == 5
    refused("currentPhase", currentPhase=phase)


@pytest.mark.covers("O12")
@pytest.mark.parametrize("status", ["parked", "halted", "completed", "done", ""])
def test_a_run_has_one_of_four_statuses(status: str) -> None:
    for known in ("in_progress", "paused", "complete", "failed"):
        assert state(status=known).status == known
    refused("status", status=status)


@pytest.mark.covers("O13")
@pytest.mark.parametrize("time", ["yesterday", "2026-01-02", "2026-01-02T22:00:00", 1767391200])
def test_a_time_without_an_offset_is_no_time(time: object) -> None:
    assert state(finishedAt="2026-01-03T06:00:00+01:00").finished_at == "2026-01-03T06:00:00+01:00"
    assert state(finishedAt=None).finished_at is None
    refused("startedAt", startedAt=time)
    refused("finishedAt", finishedAt=time)


@pytest.mark.covers("O14")
def test_a_halt_reason_names_its_phase_before_the_first_colon() -> None:
    assert state(haltReason="3:circuit-breaker:identical-finding").halt_reason is not None
    for text in ("the lock was lost", "6:late", ":x", "3:", ""):
        refused("haltReason", haltReason=text)


@pytest.mark.covers("O15")
def test_related_issues_are_siblings_and_twenty_at_most() -> None:
    issue = {"key": "BILL-7", "relation": "sibling"}
    assert state(relatedIssues=[issue] * 20).related_issues[0].truncated is False
    refused("relatedIssues", relatedIssues=[issue] * 21)
    refused("relatedIssues", relatedIssues=[{"key": "BILL-7", "relation": "parent"}])


@pytest.mark.covers("O16")
def test_a_sibling_repository_may_have_no_checkout_but_must_say_so() -> None:
    sibling = {"name": "bill-web", "root": None, "stack": "unknown"}
    kept = state(siblings=[sibling] * 10)
    assert kept.siblings[0].root is None
    assert kept.siblings[0].can_push is False
    assert json.loads(kept.to_json())["siblings"][0] == sibling
    refused("siblings", siblings=[sibling] * 11)
    refused("root", siblings=[{"name": "bill-web", "stack": "unknown"}])
    refused("stack", siblings=[{**sibling, "stack": "rust"}])


@pytest.mark.covers("O18")
def test_a_document_without_a_revision_is_at_revision_nought() -> None:
    assert state().rev == 0
    assert state(rev=7).rev == 7
    refused("rev", rev=-1)
    refused("rev", rev="7")


@pytest.mark.covers("O19")
def test_a_steer_is_one_to_four_thousand_characters_with_a_time() -> None:
    steer = {"text": "x" * 4000, "at": "2026-01-02T23:00:00Z"}
    kept = state(pendingSteer=steer).pending_steer
    assert kept is not None
    assert not kept.is_consumed
    taken = state(
        pendingSteer={**steer, "appliedAt": "2026-01-02T23:10:00Z", "appliedPhase": 2}
    ).pending_steer
    assert taken is not None
    assert taken.is_consumed
    assert state(pendingSteer=None).pending_steer is None
    for wrong in ({**steer, "text": ""}, {**steer, "text": "x" * 4001}, {"text": "x"}, {"at": steer["at"]}):
        refused("pendingSteer", pendingSteer=wrong)
    refused("appliedPhase", pendingSteer={**steer, "appliedPhase": 6})


@pytest.mark.covers("O21", "O22")
def test_a_recorded_call_names_its_phase_and_a_guide_its_files() -> None:
    kept = state(
        telemetry={"skillCalls": [{"skill": "guide", "phase": 2, "targetFiles": [], "routedBy": "a:index@1"}]}
    )
    assert kept.telemetry is not None
    assert kept.telemetry.skill_calls[0].routed_by == "a:index@1"
    refused("phase", telemetry={"mcpCalls": [{"tool": "x"}]})
    refused("tool", telemetry={"mcpCalls": [{"phase": 1}]})
    refused("targetFiles", telemetry={"skillCalls": [{"skill": "guide", "phase": 2}]})
    refused("phase", telemetry={"skillCalls": [{"skill": "guide", "phase": 6, "targetFiles": []}]})


@pytest.mark.covers("O23")
@pytest.mark.parametrize("flag", ["autopilot", "onlyDevelop", "localMode", "instructionDriven"])
def test_the_four_switches_of_a_run_are_off_unless_set(flag: str) -> None:
    quiet = state()
    assert {quiet.autopilot, quiet.only_develop, quiet.local_mode, quiet.instruction_driven} == {False}
    assert json.loads(state(**{flag: True}).to_json())[flag] is True
    refused(flag, **{flag: "true"})


@pytest.mark.covers("O24", "A11")
def test_the_fields_that_the_later_documents_use_are_declared() -> None:
    kept = state(
        status="paused",
        waitingFor="maturity",
        workspaceSource="autopilot",
        taskType="feature",
        maturity={"accepted": ["no-acceptance"]},
        gates=[],
    )
    assert kept.waiting_for == "maturity"
    assert kept.workspace_source == "autopilot"
    assert kept.maturity is not None
    assert kept.maturity.accepted == ("no-acceptance",)
    refused("waitingFor", status="paused", waitingFor="godot")
    refused("workspaceSource", workspaceSource="guessed")


def test_a_run_that_waits_for_somebody_is_paused() -> None:
    for status in ("in_progress", "complete", "failed"):
        refused("waitingFor", status=status, waitingFor="questions")


@pytest.mark.covers("O25")
def test_every_base_candidate_says_where_its_ref_was_seen() -> None:
    kept = state(baseBranchCandidates=[{"branch": "develop", "refProvenance": "remote"}])
    assert kept.base_branch_candidates[0].ref_provenance == "remote"
    refused("refProvenance", baseBranchCandidates=[{"branch": "develop"}])
    refused("refProvenance", baseBranchCandidates=[{"branch": "develop", "refProvenance": "memory"}])
