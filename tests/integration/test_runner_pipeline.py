"""A whole run as a process of its own: specification in, result out."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from autopilot.config import proc
from autopilot.config.clock import SystemClock
from autopilot.config.journal import read_lines
from autopilot.runner.state import read_state
from autopilot.schemas.gate import MANDATORY_GATES, ungreen
from autopilot.schemas.publication import PublishRequest
from autopilot.schemas.run import Outcome, RunResult, RunSpec
from tests.support.gitcmd import git
from tests.support.repos import Repo, fingerprint, make_repo
from tests.support.runs import Host, mending_steps
from tests.support.tree import ROOT

RUNNER = (sys.executable, "-P", "-m", "autopilot.runner")


def start_runner(spec: RunSpec, **options: Any) -> proc.Exit:  # noqa: ANN401 - what proc.run takes
    path = spec.run_dir / "spec.json"
    path.write_text(spec.model_dump_json())
    env = {"PATH": os.environ["PATH"], "HOME": str(spec.run_dir), "PYTHONPATH": str(ROOT / "src")}
    return proc.run(
        (*RUNNER, "run", str(path)),
        cwd=spec.run_dir,
        env=env | options.pop("env", {}),
        output=spec.run_dir / "runner.log",
        clock=SystemClock(),
        wall_s=100,
        **options,
    )


def result_of(spec: RunSpec, **options: Any) -> RunResult:  # noqa: ANN401 - as above
    ended = start_runner(spec, **options)
    assert ended.code == 0, (spec.run_dir / "runner.log").read_text()
    return RunResult.model_validate_json((spec.run_dir / "result.json").read_bytes())


def events(spec: RunSpec) -> list[str]:
    return [entry["event"] for entry in read_lines(spec.run_dir / "events.jsonl").entries]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path / "state")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "theirs")


def in_order(seen: Sequence[str], *wanted: str) -> bool:
    rest = iter(seen)
    return all(name in rest for name in wanted)


@pytest.mark.covers("A01", "A02", "A06", "A13", "B04", "B18", "N43", "O01")
def test_a_ticket_becomes_a_committed_result_with_a_request_to_publish(host: Host, repo: Repo) -> None:
    before = fingerprint(repo.checkout)
    spec = host.spec(repo, host.agent(mending_steps(repo.project)))
    result = result_of(spec)
    assert (result.outcome, result.code, result.warnings) == (Outcome.COMMITTED, "committed", ())
    assert result.head is not None
    assert (result.base, result.base_source, result.base_sha) == ("main", "input", repo.base_sha)
    assert [gate.gate for gate in result.gates] == list(MANDATORY_GATES)
    assert ungreen(result.gates, head=result.head) == ()
    assert result.baseline is not None
    assert not result.baseline.green
    assert (result.usage.cost_micro_usd, result.usage.known, result.changed_files) == (20_000, True, 1)
    judge = spec.run_dir / "judge.git"
    assert git(judge, "log", "--format=%H", result.head).split() == [result.head, repo.base_sha]
    assert git(judge, "show", "-s", "--format=%B", result.head).strip() == (
        "No cent may be lost\n\nShares add up now.\n\nRef: T-1"
    )
    request = PublishRequest.model_validate_json(spec.pr_request.read_bytes())
    assert (request.head, request.base, request.branch) == (result.head, "main", spec.branch)
    assert [line.path for line in request.scope_check] == [repo.project.broken_path]
    assert fingerprint(repo.checkout) == before
    assert in_order(
        events(spec),
        *(
            "run.started",
            "phase.entered",
            "worktree.created",
            "baseline.measured",
            "agent.started",
            "agent.spent",
        ),
        *("agent.finished", "commit.made", "gate.passed", "gate.passed", "pr.requested", "run.finished"),
    )
    state = read_state(spec.run_dir / "agent-state.json")
    assert (state.status, state.current_phase) == ("complete", 5)
    statuses = {number: phase.status for number, phase in state.phases.items()}
    assert statuses == {"0": "done", "1": "done", "2": "done", "3": "skipped", "4": "done", "5": "done"}
    assert json.loads((spec.run_dir / "result.json").read_text())["result_version"] == 1
