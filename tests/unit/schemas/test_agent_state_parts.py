from __future__ import annotations

import json

import pytest

from autopilot.schemas.agent_state import parse_state
from autopilot.schemas.agent_state_parts import BreakerCounters, CircuitBreaker
from tests.support.state_documents import REQUIRED, refused, state

PHASE = {"status": "in_progress"}


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
