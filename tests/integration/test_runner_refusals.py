"""What is refused before an agent is paid, by name and with a hint."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.schemas.run import AgentSpec, Outcome
from tests.support import repo_layouts
from tests.support.repos import Repo, fingerprint, make_repo
from tests.support.runs import Host, events_of, mending_steps, run_here
from tests.support.small_project import small_repo


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path / "state")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return small_repo(tmp_path / "theirs")


@pytest.mark.parametrize("program", ["/nowhere/claude", "no-such-program-at-all"])
def test_a_missing_agent_is_named_before_anything_is_done(host: Host, repo: Repo, program: str) -> None:
    spec = host.spec(repo, AgentSpec(name="claude", kind="claude", argv=(program,)))
    result = run_here(spec)
    assert (result.outcome, result.code) == (Outcome.AGENT_MISSING, "agent-missing")
    assert program in result.message
    assert result.usage.known
    assert not spec.worktree.exists()
    assert events_of(spec, "agent.started", "baseline.measured") == []


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
    ],
)
def test_what_is_wrong_with_the_repository_is_named_before_an_agent_is_paid(
    host: Host, tmp_path: Path, layout: str, outcome: Outcome, code: str
) -> None:
    repo = (
        small_repo(tmp_path / "theirs")
        if layout != "unborn"
        else repo_layouts.unborn_repo(tmp_path / "theirs")
    )
    spec = host.spec(repo)
    if layout == "no-such-base":
        spec = spec.model_copy(update={"repo": spec.repo.model_copy(update={"base": "nowhere"})})
    if layout == "blocked":
        repo_layouts.blocking_branch(repo)
    if layout == "unplugged":
        repo_layouts.remote_unplugged(repo)
    if layout == "bad-policy":
        from tests.support.repos import commit_files

        commit_files(repo.remote, "main", {".autopilot.toml": "stak = 1\n"})
    result = run_here(spec)
    assert (result.outcome, result.code) == (outcome, code)
    assert result.hint
    assert events_of(spec, "agent.started") == []
    assert not spec.worktree.exists()
    assert result.usage.known
