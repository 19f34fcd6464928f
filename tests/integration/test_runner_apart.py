"""What a run leaves alone, and what it survives: a person's own places, git's locks, faults of any stage."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.runner import __main__ as edge
from autopilot.runner import pipeline
from autopilot.runner.agents.command import CommandAgent
from autopilot.runner.notebook import Notebook
from autopilot.schemas.run import AgentSpec, Outcome, RunResult, RunSpec
from tests.support.agents import write_agent
from tests.support.gitcmd import git
from tests.support.repo_traps import leave_lock
from tests.support.repos import Repo
from tests.support.runs import Host, mending_steps, run_here
from tests.support.small_project import small_repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return small_repo(tmp_path / "theirs")


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.covers("B06")
def test_a_session_that_a_person_starts_meets_nothing_of_a_run(
    host: Host, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    for name, text in {
        ".gitconfig": "[user]\n\tname = Me\n",
        ".bashrc": "export A=b\n",
        ".claude/settings.json": "{}\n",
        ".config/x": "y\n",
    }.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    monkeypatch.setenv("HOME", str(home))
    before = contents(home) | contents(repo.checkout)
    meddling: dict[str, object] = {
        "run": ["sh", "-c", "echo x > ~/.bashrc; git config --global user.name Robot"]
    }
    spec = host.spec(repo, host.agent([meddling, *mending_steps(repo.project)]))
    spec = spec.model_copy(update={"repo": spec.repo.model_copy(update={"url": str(repo.checkout)})})
    assert run_here(spec).outcome is Outcome.COMMITTED
    assert contents(home) | contents(repo.checkout) == before
    assert git(repo.checkout, "branch", "--list", "autopilot/*") == ""


@pytest.mark.field_report("GIT-001")
@pytest.mark.parametrize("name", ["config.lock", "packed-refs.lock", "index.lock"])
def test_a_lock_that_another_git_holds_in_the_persons_clone_keeps_no_run_from_starting(
    host: Host, repo: Repo, name: str
) -> None:
    lock = leave_lock(repo.checkout / ".git" / name, age_s=0)
    spec = host.spec(repo, host.agent(mending_steps(repo.project)))
    spec = spec.model_copy(update={"repo": spec.repo.model_copy(update={"url": str(repo.checkout)})})
    assert run_here(spec).outcome is Outcome.COMMITTED
    assert lock.exists()


@pytest.mark.field_report("GIT-003")
def test_a_lock_that_a_killed_git_of_the_agent_left_loses_no_work(host: Host, repo: Repo) -> None:
    leave: dict[str, object] = {
        "run": ["sh", "-c", 'touch "$(git rev-parse --git-path index.lock)" .git-was-here']
    }
    spec = host.spec(repo, host.agent([*mending_steps(repo.project), leave]))
    result = run_here(spec)
    assert result.outcome is Outcome.COMMITTED
    assert result.changed_files == 2


def command(folder: Path) -> AgentSpec:
    return AgentSpec(name="mine", kind="command", argv=(str(write_agent(folder, "mine", 'say("x")').path),))


def ended(spec: RunSpec) -> RunResult:
    (spec.run_dir / "spec.json").write_text(spec.model_dump_json())
    assert edge.run(spec.run_dir / "spec.json", SystemClock(), lambda: None) == 0
    return RunResult.model_validate_json((spec.run_dir / "result.json").read_bytes())


@pytest.mark.field_report("DMN-051")
@pytest.mark.parametrize("stage", ["launch", "feed", "finish"])
@pytest.mark.parametrize(
    "error",
    [RuntimeError("x"), MemoryError(), sqlite3.OperationalError("locked")],
    ids=lambda error: type(error).__name__,
)
def test_whatever_an_adapter_raises_at_any_stage_the_run_has_its_end(
    host: Host, repo: Repo, monkeypatch: pytest.MonkeyPatch, stage: str, error: Exception
) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(CommandAgent, stage, broken)
    result = ended(host.spec(repo, command(host.state / "bin")))
    if isinstance(error, MemoryError):
        assert (result.outcome, result.code) == (Outcome.INFRASTRUCTURE, "memory-short")
        return
    assert (result.outcome, result.code) == (Outcome.BUG, "runner-bug")
    assert type(error).__name__ in result.message


@pytest.mark.field_report("DMN-051")
def test_what_ends_the_program_itself_leaves_no_result_to_be_believed(
    host: Host, repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(CommandAgent, "launch", interrupted)
    spec = host.spec(repo, command(tmp_path / "bin"))
    with pytest.raises(KeyboardInterrupt):
        pipeline.run(Notebook(spec, started_ms=SystemClock().now_ms()), SystemClock(), lambda: None)
    assert not (spec.run_dir / "result.json").exists()


@pytest.mark.field_report("AGT-034")
def test_broken_bytes_of_an_agent_are_counted_in_the_result_and_kept_as_they_were(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    noise = b'{"type":"assistant","text":"\xe4[log] x\n\xb8\x96"}\n\xff\n{"type":"a\x00b"}\r\n'
    last = b'{"type":"result","subtype":"success","is_error":false,"result":"Done.","total_cost_usd":0.5}\n'
    body = f'open("answer.txt", "w").write("right\\n"); say({noise!r}); say({last!r})'
    program = write_agent(tmp_path / "bin", "two-writers", body).path
    spec = host.spec(repo, AgentSpec(name="claude", kind="claude", argv=(str(program),)))
    result = run_here(spec)
    assert (result.outcome, result.usage.cost_micro_usd) == (Outcome.COMMITTED, 500_000)
    assert any("3 lines were not JSON" in warning for warning in result.warnings)
    assert noise in (spec.run_dir / "agent-1.log").read_bytes()
