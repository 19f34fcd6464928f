from __future__ import annotations

import json
from typing import Any

import pytest

from autopilot.schemas.agent_state import AgentState, parse_state
from autopilot.schemas.agent_state_parts import BreakerCounters, CircuitBreaker

REQUIRED = {
    "schemaVersion": "3.0.0",
    "taskId": "T-1",
    "shortId": 1,
    "project": "bill",
    "branch": "autopilot/t-1-split",
    "baseBranch": "main",
    "currentPhase": 2,
    "status": "in_progress",
    "startedAt": "2026-01-02T22:00:00Z",
    "phases": {"0": {"status": "done"}},
    "identity": {"name": "Ada", "email": "ada@example.invalid"},
}
PHASE = {"status": "in_progress"}


def state(**changes: Any) -> AgentState:  # noqa: ANN401  any JSON value
    return parse_state(json.dumps({**REQUIRED, **changes}).encode())


def refused(field: str, **changes: Any) -> None:  # noqa: ANN401  any JSON value
    with pytest.raises(ValueError, match=field):
        state(**changes)


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


@pytest.mark.covers("O28")
@pytest.mark.parametrize("key", ["name", "email"])
def test_an_identity_needs_a_name_and_an_address(key: str) -> None:
    assert state(identity={"name": "Ada", "email": "a@b", "username": "ada"}).identity.username == "ada"
    refused(key, identity={name: "x@y" for name in ("name", "email") if name != key})


@pytest.mark.covers("O29")
def test_phases_are_keyed_by_nought_to_five_and_have_one_of_five_statuses() -> None:
    for status in ("pending", "in_progress", "done", "skipped", "failed"):
        assert state(phases={"5": {"status": status}}).phases["5"].status == status
    for key in ("6", "-1", "00", "x", ""):
        refused("phases", phases={key: PHASE})
    refused("status", phases={"0": {"status": "completed"}})


@pytest.mark.covers("O30", "O31", "O32")
def test_a_phase_keeps_its_files_its_retries_up_to_three_and_its_checkpoint() -> None:
    kept = state(phases={"2": {**PHASE, "files": ["a b.py"], "retryCount": 3, "subStep": "green"}}).phases[
        "2"
    ]
    assert (kept.files, kept.retry_count, kept.sub_step) == (("a b.py",), 3, "green")
    for retries in (-1, 4, "1"):
        refused("retryCount", phases={"2": {**PHASE, "retryCount": retries}})


@pytest.mark.covers("O33", "K14")
def test_a_baseline_that_was_not_measured_is_unknown_and_not_green() -> None:
    for status in ("green", "red", "unknown"):
        assert state(baseline={"tests": {"status": status}}).baseline is not None
    refused("status", baseline={"tests": {"status": "skipped"}})


@pytest.mark.covers("O34", "O35", "M77")
def test_a_review_round_and_its_five_lists_are_kept() -> None:
    entry = {"fingerprint": "F:0a1b2c3d", "severity": None, "file": "a.py", "issue": "lost cent"}
    lists = ("new", "stillPresent", "resolved", "downgraded", "stillPresentBlocking")
    delta = {"previousIteration": 1, **{name: [entry] for name in lists}}
    rounds = [{"iteration": 2, "blocking": 1, "decision": "fix", "delta": delta}]
    assert json.loads(state(reviewIterations=rounds).to_json())["reviewIterations"] == rounds
    refused("previousIteration", reviewIterations=[{"delta": {"previousIteration": 0}}])
    refused("decision", reviewIterations=[{"decision": "approve"}])
    for name in lists:
        refused(name, reviewIterations=[{"delta": {name: [{"fingerprint": 3}]}}])


@pytest.mark.covers("O36", "E05", "E06", "E07", "E22")
def test_the_breaker_record_is_closed_and_bounded() -> None:
    counters = {
        "identicalFindingCycles": 2, "reworkCycles": 1, "buildAttempts": 3, "testAttempts": 3,
        "tokensUsed": 10, "costUsd": 0.5, "contractFailures": 2, "askRounds": 1,
    }  # fmt: skip
    record = {
        "tripped": True,
        "trigger": 6,
        "detail": "asked",
        "checkpoint": {"phase": 5, "step": "3.8", "iteration": 1},
        "trippedAt": "2026-01-02T23:00:00Z",
        "counters": counters,
    }
    assert json.loads(state(circuitBreaker=record).to_json())["circuitBreaker"] == record
    state(circuitBreaker={"tripped": False, "trigger": None})
    refused("tripped", circuitBreaker={"trigger": 1})
    for trigger in (0, 7):
        refused("trigger", circuitBreaker={**record, "trigger": trigger})
    refused("phase", circuitBreaker={**record, "checkpoint": {"phase": 6}})
    refused("iteration", circuitBreaker={**record, "checkpoint": {"iteration": 0}})
    refused("surprise", circuitBreaker={**record, "checkpoint": {"surprise": 1}})
    for name in counters:
        refused(name, circuitBreaker={**record, "counters": {name: -1}})
    refused("surprise", circuitBreaker={**record, "counters": {"surprise": 1}})


def test_a_cleared_breaker_keeps_what_it_counted() -> None:
    counters = BreakerCounters(rework_cycles=3)
    cleared = CircuitBreaker(tripped=True, trigger=3, counters=counters).cleared()
    assert cleared == CircuitBreaker(tripped=False, trigger=3, counters=counters)


@pytest.mark.covers("O37")
def test_the_risk_totals_keep_their_own_spelling() -> None:
    risk = {"files": 1, "loc_added": 4, "loc_removed": 0, "max_score": 3.0, "signals": ["migration"]}
    assert json.loads(state(diffRisk=risk).to_json())["diffRisk"] == risk
    refused("loc_added", diffRisk={"loc_added": -1})


@pytest.mark.covers("O39", "N42", "N43")
def test_commit_and_pull_request_are_null_until_they_exist() -> None:
    empty = state(pr=None, commit=None)
    assert empty.pr is None
    assert empty.commit is None
    pr = {"number": 1, "url": "https://forge.invalid/1", "version": 0, "draft": True, "reviewers": ["bob"]}
    commit = {"sha": "1234567", "message": "Split bills"}
    kept = json.loads(state(pr=pr, commit=commit).to_json())
    assert (kept["pr"], kept["commit"]) == (pr, commit)
    refused("number", pr={"number": 0})
    refused("sha", commit={"sha": "123456"})
    refused("surprise", pr={"surprise": 1})


@pytest.mark.covers("O42", "O43")
def test_a_repository_of_several_counts_its_pushes_and_its_build_in_any_known_form() -> None:
    project = {
        "project": "shop",
        "projectRoot": "/srv/shop",
        "branch": "b",
        "baseBranch": "main",
        "identity": REQUIRED["identity"],
    }
    for status in (
        "pending",
        "passed",
        "failed",
        "green",
        None,
        {"ok": False, "attempts": 2, "lastError": "x"},
    ):
        kept = json.loads(state(projects=[{**project, "buildStatus": status, "pushAttempts": 2}]).to_json())
        assert kept["projects"][0]["buildStatus"] == status
        assert kept["projects"][0]["pushAttempts"] == 2
    refused("pushAttempts", projects=[{**project, "pushAttempts": -1}])
    refused("buildStatus", projects=[{**project, "buildStatus": "maybe"}])
    refused("projects", projects=[])
    refused("projects", projects=[project] * 11)


@pytest.mark.covers("O44", "O45")
def test_a_tidied_worktree_and_where_its_artefacts_lie_are_recorded() -> None:
    kept = state(worktreeRemovedAt="2026-01-03T05:00:00Z", artifactsPath="/srv/artifacts/1")
    assert kept.worktree_removed_at == "2026-01-03T05:00:00Z"
    assert kept.artifacts_path == "/srv/artifacts/1"
    refused("worktreeRemovedAt", worktreeRemovedAt=True)


@pytest.mark.covers("O46")
def test_how_deep_the_run_tests_and_who_chose_is_recorded() -> None:
    assert state(testDepth="unit+mcp", testDepthSource="forced").test_depth == "unit+mcp"
    refused("testDepth", testDepth="all")
    refused("testDepthSource", testDepthSource="nobody")


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"{", b"\xff", b'{"schemaVersion": "3.0.0"'])
def test_what_is_no_document_is_refused_as_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_state(content)
