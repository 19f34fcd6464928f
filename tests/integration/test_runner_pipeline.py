"""A whole run as a process of its own: specification in, result out."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from autopilot.config import proc
from autopilot.config.clock import SystemClock
from autopilot.config.journal import read_lines
from autopilot.runner import __main__ as edge
from autopilot.runner.agents.command import CommandAgent
from autopilot.runner.agents.events import AgentEvent
from autopilot.runner.state import read_state
from autopilot.schemas.gate import MANDATORY_GATES, ungreen
from autopilot.schemas.publication import PublishRequest
from autopilot.schemas.run import Outcome, RunResult, RunSpec
from tests.support.gitcmd import git
from tests.support.repos import Repo, commit_files, fingerprint, make_repo
from tests.support.runs import OPEN, Host, mending_steps
from tests.support.small_project import small_repo
from tests.support.tree import ROOT
from tests.support.wait import wait_until

Steps = list[dict[str, object]]
MEND: Steps = [{"write": {"path": "answer.txt", "text": "right\n"}}]
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
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "theirs")


@pytest.fixture
def small(tmp_path: Path) -> Repo:
    return small_repo(tmp_path / "small")


def in_order(seen: Sequence[str], *wanted: str) -> bool:
    rest = iter(seen)
    return all(name in rest for name in wanted)


@pytest.mark.covers("A01", "A02", "A06", "A13", "B04", "B18", "N01", "N43", "O01", "O09", "K13", "K14")
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
    assert (state.base_branch, state.base_branch_source, state.workspace_source) == (
        "main",
        "input",
        "autopilot",
    )
    assert state.baseline is not None
    assert state.baseline.tests is not None
    assert (state.baseline.tests.status, len(state.baseline.tests.failing)) == ("red", 1)
    assert state.commit is not None
    assert state.commit.sha == result.head
    assert state.autopilot
    statuses = {number: phase.status for number, phase in state.phases.items()}
    assert statuses == {"0": "done", "1": "done", "2": "done", "3": "skipped", "4": "done", "5": "done"}
    assert json.loads((spec.run_dir / "result.json").read_text())["result_version"] == 1


def test_a_specification_that_cannot_be_read_leaves_no_result(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src")}
    for content in (b"{}", b"not json", None):
        path = tmp_path / "spec.json"
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
        ended = proc.run(
            (*RUNNER, "run", str(path)),
            cwd=tmp_path,
            env=env,
            output=tmp_path / "log",
            clock=SystemClock(),
            wall_s=60,
        )
        assert ended.code == 78
        assert b"no specification" in ended.tail
        assert not (tmp_path / "result.json").exists()


@pytest.mark.parametrize("argv", [(), ("fly",), ("run",), ("verify", "x")])
def test_a_command_line_that_means_nothing_shows_how_it_is_used(
    tmp_path: Path, argv: tuple[str, ...]
) -> None:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src")}
    output = tmp_path / "log"
    ended = proc.run((*RUNNER, *argv), cwd=tmp_path, env=env, output=output, clock=SystemClock(), wall_s=60)
    assert ended.code == 2
    assert b"usage:" in ended.tail


def test_a_run_never_writes_a_second_result(host: Host, small: Repo) -> None:
    spec = host.spec(small)
    (spec.run_dir / "result.json").write_text("the first")
    assert start_runner(spec).code == 78
    assert (spec.run_dir / "result.json").read_text() == "the first"


def test_a_fault_of_ours_still_leaves_a_result_that_says_so(host: Host, small: Repo) -> None:
    spec = host.spec(small)
    (spec.run_dir / "agent-state.json").write_text("{}")
    result = result_of(spec)
    assert (result.outcome, result.code) == (Outcome.BUG, "runner-bug")
    assert "InvariantError" in result.message
    assert "Traceback" in (spec.run_dir / "runner.log").read_text()


@pytest.mark.parametrize("when", ["agent", "gates"])
def test_asked_to_end_it_ends_everything_and_says_stopped(
    host: Host, small: Repo, when: str, tmp_path: Path
) -> None:
    going = tmp_path / "going"
    if when == "gates":
        commit_files(small.remote, "main", {"check.sh": f"touch '{going}'; exec sleep 600\n"})
    steps: Steps = [
        {"write": {"path": "answer.txt", "text": "right\n"}},
        {"spend": {"usd": 0.5}},
    ]
    hang: Steps = [
        {"write": {"path": str(going), "text": ""}},
        {"ignore_term": True},
        {"hang": True},
    ]
    spec = host.spec(small, host.agent(steps + hang if when == "agent" else steps), sandbox=OPEN)
    asked: list[int] = []

    def ask(runner: proc.ProcessId) -> None:
        asked.append(runner.pid)

    def term() -> None:
        if going.exists() and len(asked) == 1:
            asked.append(signal.SIGTERM)
            os.kill(asked[0], signal.SIGTERM)

    result = result_of(spec, on_start=ask, should_stop=term)
    assert (result.outcome, result.code) == (Outcome.STOPPED, "stopped")
    assert result.usage.cost_micro_usd == (500_000 if when == "agent" else 0)
    assert read_state(spec.run_dir / "agent-state.json").status == "paused"


@pytest.mark.covers("A16", "I20")
def test_the_agent_sees_its_own_variables_and_no_secret_of_anybody_else(host: Host, small: Repo) -> None:
    script = "env > environment; git config user.name >> environment; echo right > answer.txt"
    agent = host.agent([{"run": ["sh", "-c", script]}]).model_copy(update={"env_pass": ("MY_TOKEN",)})
    spec = host.spec(small, agent)
    spec = spec.model_copy(
        update={"repo": spec.repo.model_copy(update={"env_pass": ("FLAVOUR", "DB_PASSWORD")})}
    )
    secrets = {
        "MY_TOKEN": "mine",
        "GITHUB_TOKEN": "theirs",
        "AWS_SECRET_ACCESS_KEY": "theirs",
        "DB_PASSWORD": "theirs",
        "FLAVOUR": "plain",
        "GIT_DIR": "/theirs",
        "GIT_CONFIG_COUNT": "0",
        "NODE_OPTIONS": "--theirs",
        "SSH_AUTH_SOCK": "/theirs",
    }
    assert result_of(spec, env=secrets).outcome is Outcome.COMMITTED
    seen = (spec.worktree / "environment").read_text()
    assert "theirs" not in seen
    for wanted in (
        "MY_TOKEN=mine",
        "FLAVOUR=plain",
        "AUTOPILOT_UNATTENDED=1",
        "MULTI_AGENT_UNATTENDED=1",
        "CI=1",
    ):
        assert wanted in seen.splitlines()
    assert f"HOME={spec.run_dir / 'home'}" in seen.splitlines()
    assert seen.endswith("Night Shift\n")


def test_modules_and_hooks_of_the_worktree_never_run_inside_us(
    host: Host, small: Repo, tmp_path: Path
) -> None:
    body = f"open({str(tmp_path / 'pwned')!r}, 'a').write(__name__)\nraise SystemExit(5)\n"
    names = ("json", "config", "httpx", "pydantic", "autopilot", "psutil", "sitecustomize", "usercustomize")
    commit_files(small.remote, "main", {f"{name}.py": body for name in names})
    spec = host.spec(small, host.agent(MEND))
    assert result_of(spec, env={"PYTHONPATH": f"{ROOT / 'src'}"}).outcome is Outcome.COMMITTED
    assert not (tmp_path / "pwned").exists()


@pytest.mark.field_report("AGT-013")
def test_a_reader_that_fails_ends_the_agent_and_the_run_by_name(
    host: Host, small: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: CommandAgent, chunk: bytes) -> list[AgentEvent]:
        raise RuntimeError("the reader fell over")

    monkeypatch.setattr(CommandAgent, "feed", broken)
    steps: Steps = [
        {"spawn_grandchild": {"tick": "tick"}},
        {"flood": {"bytes": 10_000_000}},
        {"hang": True},
    ]
    spec = host.spec(small, host.agent(steps))
    (spec.run_dir / "spec.json").write_text(spec.model_dump_json())
    assert edge.run(spec.run_dir / "spec.json", SystemClock(), lambda: None) == 0
    result = RunResult.model_validate_json((spec.run_dir / "result.json").read_bytes())
    assert (result.outcome, result.code) == (Outcome.BUG, "runner-bug")
    assert "the reader fell over" in result.message
    tick = spec.worktree / "tick"
    size = tick.stat().st_size if tick.exists() else 0
    looks = iter(range(100))
    wait_until(lambda: next(looks) == 15, 30, "three times the grandchild's pace has gone by")
    assert (tick.stat().st_size if tick.exists() else 0) == size


@pytest.mark.field_report("GIT-026")
def test_odd_file_names_reach_the_request_to_publish_as_they_are(host: Host, small: Repo) -> None:
    names = ("ä.txt", 'a"b.txt', "tab\tname", "new\nline.txt", "x -> y.txt", "-rf")
    writes: Steps = [{"write": {"path": name, "text": "AKIA" + "X" * 16}} for name in names]
    spec = host.spec(small, host.agent([*writes, *MEND]))
    assert result_of(spec).outcome is Outcome.COMMITTED
    request = PublishRequest.model_validate_json(spec.pr_request.read_bytes())
    assert {line.path for line in request.scope_check} == {*names, "answer.txt"}
