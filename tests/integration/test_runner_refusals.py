"""What is refused before an agent is paid, by name and with a hint."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.runner.state import read_state
from autopilot.schemas.run import AgentSpec, Outcome, RunSpec
from tests.support import repo_layouts
from tests.support.repos import Repo, commit_files, fingerprint, make_repo, move_remote
from tests.support.runs import Host, events_of, mending_steps, run_here
from tests.support.small_project import small_repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return small_repo(tmp_path / "theirs")


@pytest.mark.covers("E19")
@pytest.mark.parametrize("program", ["/nowhere/claude", "no-such-program-at-all"])
def test_a_missing_agent_is_named_before_anything_is_done(host: Host, repo: Repo, program: str) -> None:
    spec = host.spec(repo, AgentSpec(name="claude", kind="claude", argv=(program,)))
    result = run_here(spec)
    assert (result.outcome, result.code) == (Outcome.AGENT_MISSING, "agent-missing")
    assert program in result.message
    assert result.usage.known
    assert not spec.worktree.exists()
    assert events_of(spec, "agent.started", "baseline.measured") == []
    state = read_state(spec.run_dir / "agent-state.json")
    assert state.circuit_breaker is not None
    assert state.circuit_breaker.trigger == 5


@pytest.mark.parametrize("kind", ["command", "scripted", "psychic"])
def test_an_agent_that_is_not_configured_is_refused_with_a_hint(host: Host, repo: Repo, kind: str) -> None:
    result = run_here(host.spec(repo, AgentSpec(name="mine", kind=kind)))
    assert result.outcome is Outcome.CONFIGURATION
    assert result.hint


def test_without_a_test_command_no_agent_is_paid(host: Host, tmp_path: Path) -> None:
    bare = make_repo(tmp_path / "bare", extra_files={".autopilot.toml": 'stack = "unknown"\n'})
    spec = host.spec(bare, host.agent([{"say": "hello"}]))
    result = run_here(spec)
    assert (result.outcome, result.code) == (Outcome.CONFIGURATION, "no-test-command")
    assert result.hint
    assert events_of(spec, "agent.started") == []
    assert not spec.worktree.exists()


@pytest.mark.parametrize("state", ["dirty", "detached"])
def test_a_dirty_or_detached_checkout_of_the_user_is_fetched_from_and_left_alone(
    host: Host, repo: Repo, state: str
) -> None:

    repo_layouts.dirty_checkout(repo) if state == "dirty" else repo_layouts.detach_checkout(repo)
    before = fingerprint(repo.checkout)
    spec = host.spec(repo, host.agent(mending_steps(repo.project)))
    spec = spec.model_copy(update={"repo": spec.repo.model_copy(update={"url": str(repo.checkout)})})
    assert run_here(spec).outcome is Outcome.COMMITTED
    assert fingerprint(repo.checkout) == before


@pytest.mark.parametrize(
    ("layout", "outcome", "code"),
    [
        ("unborn", Outcome.BASE_BRANCH, "base-unborn"),
        ("no-such-base", Outcome.BASE_BRANCH, "base-not-found"),
        ("blocked", Outcome.CONFIGURATION, "branch-name-refused"),
        ("unplugged", Outcome.CONFIGURATION, "git-no-repo"),
        ("bad-policy", Outcome.CONFIGURATION, "policy-invalid"),
        ("detached", Outcome.BASE_BRANCH, "base-unknown"),
        ("shallow", Outcome.CONFIGURATION, "base-not-fetched"),
    ],
)
def test_what_is_wrong_with_the_repository_is_named_before_an_agent_is_paid(
    host: Host, tmp_path: Path, layout: str, outcome: Outcome, code: str
) -> None:
    spec = spoilt(host, tmp_path, layout)
    result = run_here(spec)
    assert (result.outcome, result.code) == (outcome, code)
    assert result.hint
    assert events_of(spec, "agent.started") == []
    assert not spec.worktree.exists()
    assert result.usage.known


def spoilt(host: Host, folder: Path, layout: str) -> RunSpec:
    """A run on a repository that has something wrong with it."""
    repo = (
        repo_layouts.unborn_repo(folder / "theirs") if layout == "unborn" else small_repo(folder / "theirs")
    )
    spec = host.spec(repo)
    changes: dict[str, object] = {}
    match layout:
        case "no-such-base":
            changes = {"base": "nowhere"}
        case "blocked":
            repo_layouts.blocking_branch(repo)
        case "unplugged":
            repo_layouts.remote_unplugged(repo)
        case "bad-policy":
            commit_files(repo.remote, "main", {".autopilot.toml": "stak = 1\n"})
        case "detached":
            repo_layouts.detach_checkout(repo)
            changes = {"url": str(repo.checkout), "base": None}
        case "shallow":
            move_remote(repo)
            changes = {"url": str(repo_layouts.shallow_clone(repo, folder / "shallow").checkout)}
    return spec.model_copy(update={"repo": spec.repo.model_copy(update=changes)})


@pytest.mark.field_report("GIT-029")
def test_skipped_lfs_files_leave_a_warning_and_the_run_goes_on(host: Host, tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "theirs")
    policy = 'lfs = "skip"\n' + repo.project.files[".autopilot.toml"]
    lfs = {".gitattributes": "*.bin filter=lfs -text\n", "a.bin": "a pointer\n", ".autopilot.toml": policy}
    commit_files(repo.remote, "main", lfs)
    spec = host.spec(repo, host.agent(mending_steps(repo.project)))
    result = run_here(spec)
    assert result.outcome is Outcome.COMMITTED
    assert any("prove less" in warning for warning in result.warnings)
    assert (spec.worktree / "a.bin").read_text() == "a pointer\n"
    assert result.changed_files == 1
