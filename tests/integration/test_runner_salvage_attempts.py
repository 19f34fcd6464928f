"""What attempts after a lost one carry on: past an agent that never began, whatever the work is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autopilot.config.git import Git, GitError
from autopilot.runner import worktree
from autopilot.runner.failure import RunFailure
from autopilot.runner.owned import is_made_by, maker_of, record_of
from autopilot.runner.phases import init
from autopilot.runner.salvage import salvages
from autopilot.runner.shop import Shop
from autopilot.schemas.run import Outcome, RunSpec
from tests.support.gitcmd import git
from tests.support.repos import Repo
from tests.support.runs import Host, events_of, run_here
from tests.support.small_project import small_repo

GOOD: list[dict[str, object]] = [{"write": {"path": "answer.txt", "text": "right\n"}}]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return small_repo(tmp_path / "theirs")


def lost_in_the_middle(host: Host, repo: Repo) -> RunSpec:
    """As daemon and runner leave it when both are killed: edits, and no result."""
    spec = host.spec(repo)
    host.cut(spec)
    (spec.worktree / "answer.txt").write_text("right\n")
    (spec.worktree / "notes").mkdir()
    (spec.worktree / "notes" / "new file.txt").write_text("two hundred lines\n" * 200)
    return spec


FULL = RunFailure(Outcome.INFRASTRUCTURE, "worktree-failed", "No space left on device")


@pytest.mark.parametrize("has_prompt", [True, False])
@pytest.mark.parametrize("step", ["cut", "carry_on", "in the middle"])
def test_work_is_carried_on_past_an_attempt_that_ended_before_its_agent_began(
    host: Host, repo: Repo, monkeypatch: pytest.MonkeyPatch, step: str, *, has_prompt: bool
) -> None:
    first = lost_in_the_middle(host, repo)
    if has_prompt:
        (first.run_dir / "prompt-1.md").write_text("Do it")

    def failing(*_: object, **__: object) -> None:
        raise FULL

    def half(shop: Shop, *_: object) -> None:
        (shop.spec.worktree / "answer.txt").write_text("half")
        raise FULL

    for attempt in (2, 3):
        with monkeypatch.context() as patch:
            if step == "cut":
                patch.setattr(worktree, "_checked", failing)
            else:
                patch.setattr(init, "carry_on", half if step == "in the middle" else failing)
            assert run_here(host.spec(repo, host.agent(GOOD), attempt=attempt)).code == "worktree-failed"
    last = host.spec(repo, host.agent([{"say": "It was nearly done."}]), attempt=4)
    result = run_here(last)
    assert result.outcome is Outcome.COMMITTED, result.message
    assert (last.worktree / "answer.txt").read_text() == "right\n"
    assert (last.worktree / "notes" / "new file.txt").exists()
    assert first.run_id in [event["of"] for event in events_of(last, "work.salvaged")]
    assert "Its edits are in your folder already" in (last.run_dir / "prompt-1.md").read_text()


def test_a_folder_with_the_inode_of_a_removed_one_belongs_to_the_run_that_made_it_last(
    host: Host, repo: Repo
) -> None:
    specs = [host.spec(repo, attempt=attempt) for attempt in (1, 2, 3, 4)]
    host.cut(specs[0])
    record = record_of(specs[0].run_dir)
    assert record is not None
    for created_ms, spec in zip((4, 1, 9, 2), specs, strict=True):
        mine = record.model_copy(update={"run_id": spec.run_id, "created_ms": created_ms})
        (spec.run_dir / "worktree.json").write_text(mine.model_dump_json())
    found = maker_of(specs[0].worktree, runs=specs[0].run_dir.parent, ticket_id="T-1")
    assert found is not None
    assert found.run_id == specs[2].run_id


def test_work_that_a_later_agent_took_back_is_not_carried_on_again(host: Host, repo: Repo) -> None:
    first = lost_in_the_middle(host, repo)
    (first.run_dir / "prompt-1.md").write_text("Do it")
    undo: list[dict[str, object]] = [{"run": ["git", "checkout", "."]}, {"run": ["rm", "-r", "notes"]}]
    second = host.spec(repo, host.agent([*undo, {"exit": 3}]), attempt=2)
    assert run_here(second).outcome is Outcome.AGENT_FAILED
    assert not (second.worktree / "notes").exists()
    third = host.spec(repo, host.agent(GOOD), attempt=3)
    assert run_here(third).outcome is Outcome.COMMITTED
    assert first.run_id not in [event["of"] for event in events_of(third, "work.salvaged")]
    assert not (third.worktree / "notes").exists()


def test_a_carry_on_that_fails_half_way_leaves_a_folder_that_is_fresh_as_the_agent_is_told(
    host: Host, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = lost_in_the_middle(host, repo)
    (first.run_dir / "prompt-1.md").write_text("Do it")
    second = host.spec(repo, host.agent([{"write": {"path": "answer.txt", "text": "right\n"}}]), attempt=2)
    run = Git.run

    def half(self: Git, *args: str, **where: Any) -> bytes:  # noqa: ANN401 - as Git takes it
        if args[:3] != ("read-tree", "-m", "-u"):
            return run(self, *args, **where)
        (second.worktree / "notes").mkdir()
        (second.worktree / "notes" / "half").symlink_to("/")
        (second.worktree / "answer.txt").write_text("half")
        raise GitError("git-failed", "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Git, "run", half)
        result = run_here(second)
    assert result.outcome is Outcome.COMMITTED, result.message
    assert result.head is not None
    assert "Your folder is fresh" in (second.run_dir / "prompt-1.md").read_text()
    assert not (second.worktree / "notes").exists()
    assert (second.worktree / ".git").exists()
    changed = git(second.run_dir / "judge.git", "diff", "--name-only", f"{result.head}^", result.head)
    assert changed.split() == ["answer.txt"]


def test_a_folder_with_the_inode_of_ours_that_was_born_at_another_time_is_not_ours(
    host: Host, repo: Repo
) -> None:
    spec = lost_in_the_middle(host, repo)
    record = record_of(spec.run_dir)
    assert record is not None
    if record.born_ns is None:
        pytest.skip("this disk does not tell when a folder was made")
    assert is_made_by(record, spec.worktree)
    other = record.model_copy(update={"born_ns": record.born_ns - 1})
    assert not is_made_by(other, spec.worktree)
    (spec.run_dir / "worktree.json").write_text(other.model_dump_json())
    assert maker_of(spec.worktree, runs=spec.run_dir.parent, ticket_id="T-1") is None
    unknown = record.model_copy(update={"born_ns": None})
    assert is_made_by(unknown, spec.worktree), "written by an earlier version"


@pytest.mark.field_report("SEC-005")
def test_files_authors_and_branches_that_are_named_like_options_are_saved_as_what_they_are(
    host: Host, repo: Repo, tmp_path: Path
) -> None:
    first = lost_in_the_middle(host, repo)
    names = ("--output=OWNED", "-c", "--upload-pack=touch OWNED", "-x/--exec=touch OWNED")
    for name in names:
        (first.worktree / name).parent.mkdir(exist_ok=True)
        (first.worktree / name).write_text(f"{name}\n")
    author = "--author=--output=OWNED <--exec=touch@OWNED>"
    git(first.worktree, "add", "-A", "--", ".")
    git(first.worktree, "commit", "-q", author, "-m", "--upload-pack=touch OWNED")
    own = git(first.worktree, "rev-parse", "HEAD")
    for name in ("--upload-pack=touch OWNED", "-D", "--all"):
        (first.run_dir / "repo.git" / "refs" / "heads" / name).write_text(f"{own}\n")
    (first.worktree / "--stdin").write_text("not committed\n")
    second = host.spec(repo, host.agent([{"run": ["true"]}]), attempt=2)
    result = run_here(second)
    assert result.outcome is Outcome.COMMITTED, result.message
    [saved] = salvages(host.state / "salvage" / "T-1")
    assert set(names) | {"--stdin"} <= set(saved.files)
    assert (saved.agent_commits, saved.unsaved) == ((own,), ())
    assert saved.bundle is not None
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", repo.url, str(clone))
    git(clone, "fetch", "-q", str(saved.bundle), "refs/*:refs/*")
    assert git(clone, "show", "-s", "--format=%an", own) == "--output=OWNED"
    for name in (*names, "--stdin"):
        assert git(clone, "show", f"{saved.ref}:{name}") == (second.worktree / name).read_text().rstrip("\n")
    assert not list(tmp_path.rglob("OWNED"))
