"""Where an agent left what our git cannot read, all else is saved, and what is not is named."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from autopilot.config.git import Git
from autopilot.runner import partly
from autopilot.runner.bundles import UnsavedError
from autopilot.runner.owned import record_of
from autopilot.runner.salvage import Finding, salvage, salvages
from autopilot.schemas.run import Outcome, RunSpec
from autopilot.schemas.salvage import Salvage
from tests.support.gitcmd import git
from tests.support.repos import Repo, make_repo
from tests.support.runs import Host, events_of, run_here
from tests.support.small_project import small_project, small_repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(
        tmp_path / "theirs", project=small_project(), extra_files={"kept/.gitignore": "*.secret\n"}
    )


@pytest.fixture
def spec(host: Host, repo: Repo) -> RunSpec:
    spec = host.spec(repo)
    host.cut(spec)
    (spec.worktree / "answer.txt").write_text("right\n")
    return spec


def rest_of(host: Host, spec: RunSpec) -> Salvage:
    """What is saved of a worktree that cannot be saved whole; it is still there, as it was."""
    record = record_of(spec.run_dir)
    assert record is not None
    place = host.state / "salvage" / "T-1"
    finding = Finding(record, spec.worktree, spec.run_dir, spec.repo.mirror, place, "the test wants it")
    with pytest.raises(UnsavedError) as caught:
        salvage(Git(host.git.clock, host.state / "scratch", timeout_s=30), finding)
    assert (spec.worktree / "answer.txt").read_text() == "right\n"
    assert not (spec.run_dir / "rescue-files").exists()
    assert caught.value.rest is not None
    return caught.value.rest


def content(tmp_path: Path, repo: Repo, saved: Salvage, *path: str) -> str:
    clone = tmp_path / "clone"
    if not clone.exists():
        git(tmp_path, "clone", "-q", repo.url, str(clone))
        git(clone, "fetch", "-q", str(saved.bundle), "refs/*:refs/*")
    return git(clone, "ls-tree", "-r", "--name-only", str(saved.ref), "--", *path)


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)


def hole(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(130 << 20)


def repository(path: Path) -> None:
    path.mkdir()
    git(path, "init", "-q")
    (path / "inside.txt").write_text("x")


def linked(path: Path) -> None:
    path.mkdir()
    (path / ".git").symlink_to("/")
    (path / "inside.txt").write_text("x")


def closed(path: Path) -> None:
    pipe(path / ".gitignore")
    (path / "inside.txt").write_text("x")
    (path / "inside.txt").chmod(0)
    path.chmod(0)


HOSTILE: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "a pipe": (lambda tree: pipe(tree / "new/.gitattributes"), "new/.gitattributes is a pipe", ""),
    "a pipe in place of a file": (lambda tree: pipe(tree / "check.sh"), "check.sh is a pipe", "check.sh"),
    "a large file": (lambda tree: hole(tree / "hole.txt"), "larger than 128 MiB: hole.txt", ""),
    "a repository": (
        lambda tree: repository(tree / "n"),
        "n/.git is a repository of its own; the files beside it are saved",
        "n/inside.txt",
    ),
    "a link for one": (lambda tree: linked(tree / "n"), "n/.git is a repository", "n/inside.txt"),
    "a closed folder": (lambda tree: closed(tree / "c"), "c/.gitignore is a pipe", "c/inside.txt"),
    "large rules": (
        lambda tree: (tree / ".mailmap").write_bytes(b"#" * (17 << 20)),
        ".mailmap is larger than 16 MiB",
        "",
    ),
    "a name that git refuses": (
        lambda tree: (tree / "git~1").write_text("x"),
        "git does not take it: git~1",
        "",
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_all_but_what_git_cannot_read_is_saved_and_that_is_named(
    host: Host, spec: RunSpec, repo: Repo, tmp_path: Path, what: str
) -> None:
    put, told, inside = HOSTILE[what]
    put(spec.worktree)
    pipe(spec.worktree / ".gitignore")
    saved = rest_of(host, spec)
    assert any(line.startswith(told) for line in saved.unsaved), saved.unsaved
    assert saved.files == ("answer.txt", *([inside] if inside.startswith(("n/", "c/")) else []))
    named = {"answer.txt", inside} - {""}
    assert set(content(tmp_path, repo, saved, *named).split("\n")) == named


def test_rules_that_were_taken_away_still_count_so_that_no_secret_is_saved(
    host: Host, spec: RunSpec, repo: Repo, tmp_path: Path
) -> None:
    pipe(spec.worktree / "kept" / ".gitignore")
    (spec.worktree / "kept" / "a.secret").write_text("hunter2")
    saved = rest_of(host, spec)
    assert saved.unsaved == ("kept/.gitignore is a pipe",)
    assert content(tmp_path, repo, saved, "kept") == "kept/.gitignore"


def test_the_same_rest_is_saved_once(host: Host, spec: RunSpec) -> None:
    pipe(spec.worktree / ".gitignore")
    assert rest_of(host, spec) == rest_of(host, spec)
    assert len(salvages(host.state / "salvage" / "T-1")) == 1
    hole(spec.worktree / "hole.txt")
    assert len(rest_of(host, spec).unsaved) == 2


def test_a_repository_that_cannot_be_read_keeps_no_files_from_being_saved(host: Host, spec: RunSpec) -> None:
    pipe(spec.run_dir / "repo.git" / "packed-refs")
    saved = rest_of(host, spec)
    assert saved.files == ("answer.txt",)
    assert "the agent's repository cannot be read" in saved.unsaved[0]


def test_what_is_only_in_a_submodule_is_named(host: Host, tmp_path: Path) -> None:
    inner, repo = make_repo(tmp_path / "inner"), small_repo(tmp_path / "theirs")
    git(repo.checkout, "submodule", "add", "-q", inner.url, "vendor")
    git(repo.checkout, "commit", "-q", "-m", "A submodule")
    git(repo.checkout, "push", "-q", "origin", "HEAD:main")
    spec = host.spec(repo)
    host.cut(spec)
    git(spec.worktree, "submodule", "update", "-q", "--init")
    (spec.worktree / "vendor" / "scratch.txt").write_text("nowhere else")
    (spec.worktree / "answer.txt").write_text("right\n")
    saved = rest_of(host, spec)
    assert saved.files == ("answer.txt",)
    assert saved.unsaved == ("the submodule vendor has changes that were not committed",)


@pytest.mark.parametrize("is_linkable", [True, False])
def test_a_copy_holds_files_links_and_modes_also_where_a_file_gets_no_second_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_linkable: bool
) -> None:
    if not is_linkable:

        def no_second_name(*_: object, **__: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "link", no_second_name)
    tree = tmp_path / "tree"
    (tree / "d").mkdir(parents=True)
    (tree / "d" / "run").write_text("x")
    (tree / "d" / "run").chmod(0o755)
    (tree / "d" / "way").symlink_to("/etc/passwd")
    pipe(tree / "p")
    with partly.copied(tree, tmp_path / "copy", without=[]) as copy:
        assert (tmp_path / "copy" / "d" / "run").stat().st_mode & 0o777 == 0o755
        assert (tmp_path / "copy" / "d" / "way").readlink() == Path("/etc/passwd")
    assert copy.told == ["p is a pipe"]
    assert not (tmp_path / "copy").exists()


def test_a_folder_that_lies_too_deep_is_named(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    deep = tree.joinpath(*["d"] * 210)
    deep.mkdir(parents=True)
    with partly.copied(tree, tmp_path / "copy", without=[]) as copy:
        assert copy.told == [f"{'d/' * 200}d lies too deep"]


def test_the_next_attempt_carries_on_what_could_be_saved_and_says_what_could_not(
    host: Host, spec: RunSpec, repo: Repo
) -> None:
    pipe(spec.worktree / ".gitattributes")
    second = host.spec(repo, host.agent([{"say": "done"}]), attempt=2)
    result = run_here(second)
    assert result.outcome is Outcome.COMMITTED, result.message
    assert (second.worktree / "answer.txt").read_text() == "right\n"
    [kept] = events_of(second, "work.kept")
    assert kept["unsaved"] == [".gitattributes is a pipe"]
    assert any(".gitattributes is a pipe" in warning for warning in result.warnings)
