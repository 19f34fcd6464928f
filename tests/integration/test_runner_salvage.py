"""What an interrupted attempt leaves is saved before anything is rebuilt, and carried on by the next one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autopilot.config.git import Git
from autopilot.runner.bundles import UnsavedError
from autopilot.runner.earlier import INTERRUPTED
from autopilot.runner.owned import is_made_by, maker_of, record_of
from autopilot.runner.salvage import Finding, salvage, salvages
from autopilot.runner.worktree import TRASH
from autopilot.schemas.run import AgentSpec, Outcome, RunSpec
from autopilot.schemas.salvage import Salvage
from tests.support import repo_traps
from tests.support.captures import capture
from tests.support.claude_stand_in import write_client
from tests.support.gitcmd import git
from tests.support.repos import Repo, commit_files, make_repo
from tests.support.runs import OPEN, Host, events_of, run_here
from tests.support.small_project import small_repo

GOOD: list[dict[str, object]] = [{"write": {"path": "answer.txt", "text": "right\n"}}]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return small_repo(tmp_path / "theirs")


def saved_of(host: Host, spec: RunSpec, folder: Path | None = None) -> Salvage:
    record = record_of(spec.run_dir)
    assert record is not None
    return salvage(host.git, finding(host, spec, folder))


def finding(host: Host, spec: RunSpec, folder: Path | None = None) -> Finding:
    record = record_of(spec.run_dir)
    assert record is not None
    return Finding(
        record=record,
        folder=folder or spec.worktree,
        run_dir=spec.run_dir,
        mirror=spec.repo.mirror,
        place=host.state / "salvage" / "T-1",
        reason="the test wants it",
    )


def lost_in_the_middle(host: Host, repo: Repo) -> RunSpec:
    """As daemon and runner leave it when both are killed: edits, and no result."""
    spec = host.spec(repo)
    host.cut(spec)
    (spec.worktree / "answer.txt").write_text("right\n")
    (spec.worktree / "notes").mkdir()
    (spec.worktree / "notes" / "new file.txt").write_text("two hundred lines\n" * 200)
    return spec


@pytest.mark.field_report("GIT-015")
def test_edits_of_a_killed_run_are_on_a_rescue_ref_before_the_worktree_is_made_anew(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    first = lost_in_the_middle(host, repo)
    second = host.spec(repo, host.agent([{"run": ["true"]}]), attempt=2)
    result = run_here(second)
    assert (result.outcome, result.changed_files or 2) == (Outcome.COMMITTED, 2), result.message
    [saved] = salvages(host.state / "salvage" / "T-1")
    assert (saved.run_id, saved.changed_files) == (first.run_id, 2)
    assert saved.ref == f"refs/rescue/{first.run_id}"
    [told] = events_of(second, "work.salvaged")
    assert (told["of"], told["ref"], told["ended"]) == (first.run_id, saved.ref, "lost")
    assert any(first.run_id in warning for warning in result.warnings)
    assert saved.bundle is not None
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", repo.url, str(clone))
    git(clone, "fetch", "-q", str(saved.bundle), "refs/*:refs/*")
    assert git(clone, "show", f"{saved.ref}:answer.txt") == "right"
    git(clone, "apply", "--binary", str(saved.patch))
    assert (clone / "notes" / "new file.txt").read_text().count("two hundred") == 200


@pytest.mark.field_report("AGT-042")
def test_an_attempt_after_a_usage_limit_goes_on_from_the_commit_that_was_made(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    recorded = capture("claude", "usage-limit")
    body = f"""
    start()
    open("answer.txt", "w").write("right\\n")
    git("add", "-A")
    git("commit", "-q", "-m", "The right answer")
    note(git("rev-parse", "HEAD").stdout.decode().strip())
    say({recorded.stdout!r})
    sys.exit(1)
    """
    agent = write_client(tmp_path / "bin", body)
    first = host.spec(repo, AgentSpec(name="claude", kind="claude", argv=(str(agent.path),)), sandbox=OPEN)
    assert run_here(first).outcome is Outcome.USAGE_LIMIT
    second = host.spec(repo, host.agent([{"say": "It was nearly done."}]), attempt=2)
    result = run_here(second)
    assert result.outcome is Outcome.COMMITTED, result.message
    prompt = (second.run_dir / "prompt-1.md").read_text()
    assert "Its edits are in your folder already" in prompt
    assert "- answer.txt" in prompt
    [saved] = salvages(host.state / "salvage" / "T-1")
    assert saved.agent_commits == (agent.notes()[-1],)
    assert git(second.run_dir / "repo.git", "rev-parse", "refs/rescue/agent/1") == agent.notes()[-1]


def test_work_on_an_older_base_is_merged_with_the_new_one_or_only_named(host: Host, repo: Repo) -> None:
    lost_in_the_middle(host, repo)
    commit_files(repo.remote, "main", {"other.txt": "moved on\n"})
    second = host.spec(repo, host.agent([{"say": "done"}]), attempt=2)
    assert run_here(second).outcome is Outcome.COMMITTED
    assert (second.worktree / "other.txt").read_text() == "moved on\n"
    assert (second.worktree / "answer.txt").read_text() == "right\n"


def test_work_that_conflicts_with_the_new_base_is_named_and_not_put_in(host: Host, repo: Repo) -> None:
    lost_in_the_middle(host, repo)
    commit_files(repo.remote, "main", {"answer.txt": "nearly\n"})
    second = host.spec(repo, host.agent(GOOD), attempt=2)
    assert run_here(second).outcome is Outcome.COMMITTED
    prompt = (second.run_dir / "prompt-1.md").read_text()
    assert "kept under refs/rescue/T-1-a1-00000001" in prompt
    assert not (second.worktree / "notes").exists()


def test_what_was_judged_is_not_carried_on_but_kept(host: Host, repo: Repo) -> None:
    steps: list[dict[str, object]] = [{"write": {"path": "odd.txt", "text": "x"}}, {"exit": 3}]
    first = host.spec(repo, host.agent(steps))
    assert run_here(first).outcome is Outcome.AGENT_FAILED
    assert Outcome.AGENT_FAILED not in INTERRUPTED
    second = host.spec(repo, host.agent(GOOD), attempt=2)
    run_here(second)
    assert not (second.worktree / "odd.txt").exists()
    [saved] = salvages(host.state / "salvage" / "T-1")
    assert saved.files == ("odd.txt",)


def test_nothing_that_an_agent_planted_runs_while_its_work_is_saved(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    spec = host.spec(repo)
    workspace = host.cut(spec)
    traps = [
        repo_traps.set_hooks(workspace.repository, tmp_path / "hooks"),
        repo_traps.set_config_commands(workspace.repository, tmp_path / "commands"),
    ]
    (spec.worktree / ".gitattributes").write_text("* filter=trap diff=trap\n")
    (spec.worktree / "answer.txt").write_text("right\n")
    alternates = workspace.repository / "objects" / "info" / "alternates"
    alternates.write_text(alternates.read_text() + f"{tmp_path / 'elsewhere'}\n")
    saved = saved_of(host, spec)
    assert sorted(saved.files) == [".gitattributes", "answer.txt"]
    assert [trap.sprung() for trap in traps] == [(), ()]


def test_the_same_work_is_saved_once_and_changed_work_again(host: Host, repo: Repo) -> None:
    spec = lost_in_the_middle(host, repo)
    first = saved_of(host, spec)
    assert saved_of(host, spec) == first
    (spec.worktree / "answer.txt").write_text("right, said a person\n")
    assert saved_of(host, spec) != first
    assert len(salvages(host.state / "salvage" / "T-1")) == 2
    assert first.bundle is not None
    first.bundle.write_bytes(b"damaged")
    (spec.worktree / "answer.txt").write_text("right\n")
    again = saved_of(host, spec)
    assert again.bundle != first.bundle


def test_a_change_too_large_for_a_patch_is_saved_in_its_bundle(
    host: Host, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autopilot.runner.bundles._MAX_PATCH_BYTES", 100)
    saved = saved_of(host, lost_in_the_middle(host, repo))
    assert saved.patch is None
    assert saved.notes
    assert saved.bundle is not None
    assert [path.name for path in sorted(saved.bundle.parent.iterdir())] == ["salvage.json", "work.bundle"]


def test_an_untouched_worktree_leaves_an_empty_record(host: Host, repo: Repo) -> None:
    spec = host.spec(repo)
    host.cut(spec)
    (spec.worktree / "report.xml").write_text("ignored by the repository's rules")
    saved = saved_of(host, spec)
    assert (saved.is_empty, saved.bundle, saved.patch) == (True, None, None)
    assert saved.left_out == ("report.xml",)


@pytest.mark.field_report("AGT-032")
def test_what_cannot_be_saved_whole_is_an_error_and_the_next_attempt_still_starts(
    host: Host, repo: Repo
) -> None:
    spec = lost_in_the_middle(host, repo)
    git(spec.worktree, "init", "-q", "inner")
    (spec.worktree / "inner" / "file").write_text("mine")
    with pytest.raises(UnsavedError, match="repository of its own"):
        saved_of(host, spec)
    second = host.spec(repo, host.agent(GOOD), attempt=2)
    result = run_here(second)
    assert result.outcome is Outcome.COMMITTED
    assert [event["of"] for event in events_of(second, "work.kept")] == [spec.run_id]
    [aside] = (second.worktree.parent / TRASH).iterdir()
    assert (aside / "inner" / "file").read_text() == "mine"


def test_a_worktree_is_known_by_the_folder_that_was_made_and_not_by_its_name(host: Host, repo: Repo) -> None:
    spec = host.spec(repo)
    host.cut(spec)
    record = record_of(spec.run_dir)
    assert record is not None
    assert maker_of(spec.worktree, runs=spec.run_dir.parent, ticket_id="T-1") == record
    moved = spec.worktree.rename(spec.worktree.with_name("moved"))
    assert is_made_by(record, moved)
    spec.worktree.mkdir()
    (spec.worktree / ".git").write_bytes((moved / ".git").read_bytes())
    assert not is_made_by(record, spec.worktree)
    spec.worktree.with_name("link").symlink_to(moved)
    assert not is_made_by(record, spec.worktree.with_name("link"))
    assert maker_of(spec.worktree, runs=spec.run_dir.parent, ticket_id="T-1") is None


@pytest.mark.field_report("GIT-005")
def test_a_submodule_counts_as_saved_only_while_all_of_it_is_published(host: Host, tmp_path: Path) -> None:
    inner = make_repo(tmp_path / "inner")
    repo = make_repo(tmp_path / "theirs")
    git(repo.checkout, "submodule", "add", "-q", inner.url, "vendor")
    git(repo.checkout, "commit", "-q", "-m", "A submodule")
    git(repo.checkout, "push", "-q", "origin", "HEAD:main")
    spec = host.spec(repo)
    host.cut(spec)
    git(spec.worktree, "submodule", "update", "-q", "--init")
    assert saved_of(host, spec).is_empty
    vendor = spec.worktree / "vendor"
    (vendor / "scratch.txt").write_text("unsaved")
    with pytest.raises(UnsavedError, match="has changes that were not committed"):
        saved_of(host, spec)
    git(vendor, "checkout", "-q", "-b", "mine")
    git(vendor, "add", "-A")
    git(vendor, "commit", "-q", "-m", "Only here")
    with pytest.raises(UnsavedError, match="has commits of its own"):
        saved_of(host, spec)


def test_a_git_that_fails_saves_nothing_and_says_so(host: Host, repo: Repo, tmp_path: Path) -> None:
    spec = lost_in_the_middle(host, repo)
    broken = Git(host.git.clock, tmp_path / "scratch", env={"GIT_OBJECT_DIRECTORY": "/nowhere"})
    with pytest.raises(UnsavedError):
        salvage(broken, finding(host, spec))
    assert salvages(host.state / "salvage" / "T-1") == ()


@pytest.mark.parametrize("key", ["core.worktree", "core.bare"])
def test_commits_in_a_repository_whose_files_are_said_to_be_elsewhere_are_saved(
    host: Host, repo: Repo, key: str
) -> None:
    spec = lost_in_the_middle(host, repo)
    git(spec.worktree, "add", "-A")
    git(spec.worktree, "commit", "-q", "-m", "Mine")
    tip = git(spec.worktree, "rev-parse", "HEAD")
    git(spec.run_dir / "repo.git", "config", key, "/nowhere/at/all" if key == "core.worktree" else "false")
    assert saved_of(host, spec).agent_commits == (tip,)


def test_commits_of_our_own_rounds_are_saved_with_the_agents(host: Host, repo: Repo) -> None:
    spec = host.spec(repo, host.agent(GOOD))
    head = run_here(spec).head
    assert head is not None
    without = finding(host, spec)
    saved = salvage(host.git, replace(without, folder=None))
    assert (saved.head, saved.agent_commits) == (None, (head,))
