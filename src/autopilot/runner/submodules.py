"""Whether a submodule that an agent has brought in holds something that exists nowhere else.

Must not run git inside it: its commits are fetched by name, its files are read through a list of ours.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.git import GitError
from autopilot.config.removal import remove_tree
from autopilot.runner.changes import GITLINK_MODE, shown_path
from autopilot.runner.replica import ForeignError, replicate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.config.git import Git
    from autopilot.runner.judge import Judge
    from autopilot.runner.replica import Replica

_MAX_LINK_BYTES = 4096
_REPLICA = "submodule.git"


def unsaved_submodules(judge: Judge, *, made_at: Path) -> list[str]:
    """Say of each submodule in the worktree why it cannot be given up; nothing where all is published.

    Args:
        judge: our repository and the worktree.
        made_at: where the worktree was made; links in it count from there.

    Raises:
        GitError: our own repository cannot be used.
    """
    faults = ((path, _fault(judge, made_at, path, sha)) for path, sha in _submodules(judge))
    return [f"the submodule {shown_path(path)} {fault}" for path, fault in faults if fault]


def unsaved_repositories(judge: Judge) -> list[str]:
    """Say of each submodule's repository, whose worktree is gone, why it cannot be given up.

    What is compared with are the commits that the base names and that the submodule's own remote had.

    Raises:
        GitError: one of them cannot be read.
        OSError: the same.
    """
    published = {sha for _, sha in _submodules(judge)}
    faults = (
        (repository, _own_fault(judge, repository, published))
        for repository in _repositories(judge.workspace.repository)
    )
    return [f"the submodule in {repository} {fault}" for repository, fault in faults if fault]


def _own_fault(judge: Judge, repository: Path, published: set[str]) -> str:
    try:
        with _replica(judge, repository) as replica:
            others = sorted(_own(judge.git, replica) - published)
    except ForeignError as exc:
        return f"cannot be read: {exc}"
    return f"has commits of its own, as {others[0][:12]}" if others else ""


def _repositories(repository: Path) -> Iterator[Path]:
    """Find where git keeps submodules: of each worktree and of the whole. Source: gitrepository-layout(5).

    A link is no such place: it may lead to everything that this machine has.

    Raises:
        OSError: a folder cannot be read.
    """
    worktrees = repository / "worktrees"
    tops = [each / "modules" for each in worktrees.iterdir()] if _is_folder(worktrees) else []
    for top in (*tops, repository / "modules"):
        if not _is_folder(top.parent) or not _is_folder(top):
            continue
        places = [top]
        while places:
            place = places.pop()
            with os.scandir(place) as entries:
                is_folder = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
            is_one = {"HEAD", "objects"} <= is_folder.keys()
            below = [name for name in is_folder if is_folder[name] and (not is_one or name == "modules")]
            places += (place / name for name in below)
            if is_one:
                yield place


def _is_folder(path: Path) -> bool:
    return not path.is_symlink() and path.is_dir()


def _submodules(judge: Judge) -> Iterator[tuple[bytes, str]]:
    listed = judge.git.lines_z("ls-tree", "-r", "-z", judge.workspace.base_sha, git_dir=judge.place)
    for entry in listed:
        head, _, path = entry.partition(b"\t")
        if head.startswith(GITLINK_MODE):
            yield path, head.split(b" ")[2].decode()


def _fault(judge: Judge, made_at: Path, path: bytes, sha: str) -> str:
    folder = judge.workspace.worktree / os.fsdecode(path)
    if folder.is_symlink() or not folder.is_dir() or not any(folder.iterdir()):
        return ""
    repository = _repository_of(judge, folder, made_at / os.fsdecode(path))
    if repository is None:
        return "is a folder whose repository cannot be found"
    try:
        with _replica(judge, repository) as replica:
            if others := sorted(_own(judge.git, replica) - {sha}):
                return f"has commits of its own, as {others[0][:12]}"
            judge.git.run(
                *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1"),
                *("--", str(replica.place), sha),
                git_dir=judge.place,
            )
        return _changed(judge, folder, sha)
    except (GitError, ForeignError) as exc:
        return f"cannot be compared with its commit {sha[:12]}: {_words(exc)}"


def _words(exc: GitError | ForeignError) -> str:
    return exc.what if isinstance(exc, GitError) else str(exc)


def _repository_of(judge: Judge, folder: Path, made_at: Path) -> Path | None:
    """Follow a submodule's `.git` as data, from where it was written; nowhere but into the run's repository.

    Source: gitrepository-layout(5).
    """
    link = folder / ".git"
    if _is_folder(link):
        return link
    try:
        text = os.fsdecode(read_plain(link, max_bytes=_MAX_LINK_BYTES)).strip()
    except UnreadableError:
        return None
    if not text.startswith("gitdir:"):
        return None
    named = Path(os.path.normpath(made_at / text.removeprefix("gitdir:").strip()))
    run = judge.workspace.repository
    top = next((each for each in (run, run.resolve()) if named.is_relative_to(each)), None)
    return run / named.relative_to(top) if top is not None else None


@contextmanager
def _replica(judge: Judge, repository: Path) -> Iterator[Replica]:
    """Have a submodule's repository as one of ours for the length of a block."""
    run, tree = judge.workspace.repository, judge.workspace.worktree
    top = run if repository.is_relative_to(run) else tree
    place = judge.place / _REPLICA
    remove_tree(place)
    try:
        yield replicate(
            judge.git,
            top.parent,
            *(top.name, *repository.relative_to(top).parts),
            place=place,
            mirror=judge.mirror,
            sha=judge.workspace.base_sha,
        )
    finally:
        remove_tree(place)


def _own(git: Git, replica: Replica) -> set[str]:
    """Give what its branches and HEAD name, and nothing that it fetched does."""
    named = replica.named(git)
    own = {sha for name, sha in named.items() if name.startswith("refs/heads/")} | replica.head(named)
    tracked = {sha for name, sha in named.items() if name.startswith(("refs/remotes/", "refs/tags/"))}
    return own - tracked


def _changed(judge: Judge, folder: Path, sha: str) -> str:
    """Compare the files with the commit, by a list of ours."""
    env = {"GIT_INDEX_FILE": str(judge.place / "submodule-index")}
    judge.git.run("read-tree", f"{sha}^{{tree}}", git_dir=judge.place, env=env)
    judge.git.run("add", "--all", "--", ".", git_dir=judge.place, work_tree=folder, env=env)
    now = judge.git.run("write-tree", git_dir=judge.place, env=env)
    then = judge.git.run("rev-parse", f"{sha}^{{tree}}", git_dir=judge.place)
    return "" if now == then else "has changes that were not committed"
