"""What agents do to their folder and their repository in a whole run."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.schemas.run import AgentSpec, Outcome, RunSpec
from tests.support import git_agents
from tests.support.agents import Agent, write_agent
from tests.support.gitcmd import git
from tests.support.repos import Repo
from tests.support.runs import OPEN, Host, events_of, run_here
from tests.support.small_project import small_repo

Steps = list[dict[str, object]]
MEND: Steps = [{"write": {"path": "answer.txt", "text": "right\n"}}]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return small_repo(tmp_path / "theirs")


def command(agent: Agent, **changes: object) -> AgentSpec:
    return AgentSpec.model_validate(
        {"name": "mine", "kind": "command", "argv": (str(agent.path),), **changes}
    )


def rounds_played(spec: RunSpec) -> int:
    return len(events_of(spec, "agent.started"))


@pytest.mark.field_report("AGT-043")
def test_commits_on_a_detached_head_become_the_runs_commit(host: Host, repo: Repo, tmp_path: Path) -> None:
    agent = git_agents.detaches_and_commits_twice(tmp_path / "bin", repo.project)
    spec = host.spec(repo, command(agent), sandbox=OPEN)
    result = run_here(spec)
    assert result.outcome is Outcome.COMMITTED
    judge = spec.run_dir / "judge.git"
    assert git(judge, "show", f"{result.head}:answer.txt") == "right"
    assert git(judge, "rev-parse", "refs/agent/1") == agent.notes()[-1]
    assert spec.worktree.is_dir()


@pytest.mark.field_report("AGT-043")
def test_commits_that_the_folder_does_not_show_are_kept_and_told(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    body = """
    open("answer.txt", "w").write("right\\n")
    git("add", "-A"); git("commit", "-q", "-m", "Mine")
    note(git("rev-parse", "HEAD").stdout.decode().strip())
    git("checkout", "-q", "--detach", "origin/main")
    """
    agent = write_agent(tmp_path / "bin", "hides", body)
    spec = host.spec(repo, command(agent), sandbox=OPEN)
    result = run_here(spec)
    assert result.outcome is Outcome.NO_CHANGES
    assert any("own commits are kept" in warning for warning in result.warnings)
    assert git(spec.run_dir / "judge.git", "rev-parse", "refs/agent/1") == agent.notes()[0]


def test_an_agent_that_removes_its_folder_fails_by_name(host: Host, repo: Repo, tmp_path: Path) -> None:
    agent = command(git_agents.deletes_its_folder(tmp_path / "bin"))
    result = run_here(host.spec(repo, agent, sandbox=OPEN))
    assert (result.outcome, result.code) == (Outcome.AGENT_FAILED, "worktree-gone")


def test_an_embedded_repository_goes_back_to_the_agent_as_a_problem(host: Host, repo: Repo) -> None:
    embed: Steps = [
        *MEND,
        {"run": ["git", "init", "-q", "vendored"]},
        {"write": {"path": "vendored/x", "text": "x"}},
    ]
    mended = host.spec(repo, host.agent(embed, [{"run": ["rm", "-rf", "vendored/.git"]}]))
    assert run_here(mended).outcome is Outcome.COMMITTED
    assert "vendored/" in (mended.run_dir / "prompt-2.md").read_text()
    stubborn = host.spec(repo, host.agent(embed, name="stubborn"), attempt=2)
    result = run_here(stubborn)
    assert (result.outcome, result.code) == (Outcome.AGENT_FAILED, "not-committable")
    assert "vendored/" in result.message
    assert rounds_played(stubborn) == 3


@pytest.mark.field_report("GIT-041")
def test_a_reinitialised_repository_is_flagged_and_the_users_is_as_it_was(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    agent = git_agents.reinitialises(tmp_path / "bin", repo.project)
    spec = host.spec(repo, command(agent), sandbox=OPEN)
    spec = spec.model_copy(update={"repo": spec.repo.model_copy(update={"url": str(repo.checkout)})})
    before = (repo.checkout / ".git" / "config").read_bytes()
    body = f"git('config', '--file', {str(repo.checkout / '.git' / 'config')!r}, 'core.bare', 'true')"
    with agent.path.open("a") as file:
        file.write(f"\n{body}\n")
    result = run_here(spec)
    assert (result.outcome, result.code) == (Outcome.AGENT_FAILED, "repository-tampered")
    assert any("core.bare" in warning for warning in result.warnings)
    assert any("changed the set-up of its repository" in warning for warning in result.warnings)
    assert (repo.checkout / ".git" / "config").read_bytes() == before
    assert {event.get("whose") for event in events_of(spec, "config.restored")} == {"run", "user"}


@pytest.mark.field_report("GIT-023")
def test_an_agents_git_starts_no_maintenance_of_its_own_that_our_reaper_would_tear(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    """Thousands of loose objects, as many as make git collect; one commit; then everything is ended."""
    body = """
    import zlib, hashlib
    objects = git("rev-parse", "--path-format=absolute", "--git-path", "objects").stdout.decode().strip()
    for number in range(7000):
        raw = b"blob 4\\0%04d" % number
        sha = hashlib.sha1(raw).hexdigest()
        os.makedirs(f"{objects}/{sha[:2]}", exist_ok=True)
        open(f"{objects}/{sha[:2]}/{sha[2:]}", "wb").write(zlib.compress(raw))
    open("answer.txt", "w").write("right\\n")
    git("add", "-A")
    git("commit", "-q", "-m", "The right answer")
    note(git("config", "gc.auto").stdout.decode().strip())
    note(git("config", "maintenance.auto").stdout.decode().strip())
    """
    agent = write_agent(tmp_path / "bin", "loose", body)
    spec = host.spec(repo, AgentSpec(name="mine", kind="command", argv=(str(agent.path),)), sandbox=OPEN)
    assert run_here(spec).outcome is Outcome.COMMITTED
    assert agent.notes() == ["0", "false"]
    left = [path.name for path in (spec.run_dir / "repo.git").rglob("*") if path.is_file()]
    assert [name for name in left if name.startswith(("tmp_pack", "gc.pid", "maintenance.lock"))] == []
    assert [name for name in left if name.endswith(".pack")] == []
