"""Whether a submodule that an agent has brought in holds something that exists nowhere else.

Must not run git inside it: its commits are fetched by name, its files are read through a list of ours.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.git import GitError
from autopilot.runner.changes import GITLINK_MODE, shown_path
from autopilot.runner.places import UPLOAD_PACK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.runner.judge import Judge

_MAX_LINK_BYTES = 4096


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
    return [
        f"the submodule in {repository} has commits of its own, as {others[0][:12]}"
        for repository in _repositories(judge.workspace.repository)
        if (others := sorted(_own_names(judge, repository) - published))
    ]


def _repositories(repository: Path) -> Iterator[Path]:
    """Find where git keeps submodules: of each worktree and of the whole. Source: gitrepository-layout(5)."""

    def refuse(error: OSError) -> None:
        raise error

    for top in (*repository.glob("worktrees/*/modules"), repository / "modules"):
        if not os.path.lexists(top):
            continue
        for place, folders, files in os.walk(top, onerror=refuse):
            if "HEAD" in files and "objects" in folders:
                folders[:] = [name for name in folders if name == "modules"]
                yield Path(place)


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
    repository = _repository_of(folder, made_at / os.fsdecode(path))
    if repository is None:
        return "is a folder whose repository cannot be found"
    try:
        named = _fetched(judge, repository, sha)
        if others := sorted(named - {sha}):
            return f"has commits of its own, as {others[0][:12]}"
        return _changed(judge, folder, sha)
    except GitError as exc:
        return f"cannot be compared with its commit {sha[:12]}: {exc.what}"


def _repository_of(folder: Path, made_at: Path) -> Path | None:
    """Follow a submodule's `.git` as data, from where it was written. Source: gitrepository-layout(5)."""
    link = folder / ".git"
    if link.is_dir() and not link.is_symlink():
        return link
    try:
        text = os.fsdecode(read_plain(link, max_bytes=_MAX_LINK_BYTES)).strip()
    except UnreadableError:
        return None
    named = os.path.normpath(made_at / text.removeprefix("gitdir:").strip())
    return Path(named) if text.startswith("gitdir:") else None


def _fetched(judge: Judge, repository: Path, sha: str) -> set[str]:
    """Bring the submodule's commit here; give what its own branches and HEAD name."""
    own = _own_names(judge, repository)
    judge.git.run(
        *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1", UPLOAD_PACK),
        *("--", str(repository), sha),
        git_dir=judge.place,
    )
    return own


def _own_names(judge: Judge, repository: Path) -> set[str]:
    """Give what its branches and HEAD name, and nothing that it fetched does."""
    own = os.fsdecode(judge.git.run("ls-remote", "--", str(repository), "HEAD", "refs/heads/*"))
    tracked = os.fsdecode(judge.git.run("ls-remote", "--", str(repository), "refs/remotes/*", "refs/tags/*"))
    return _names(own) - _names(tracked)


def _names(listed: str) -> set[str]:
    return {line.partition("\t")[0] for line in listed.splitlines() if line}


def _changed(judge: Judge, folder: Path, sha: str) -> str:
    """Compare the files with the commit, by a list of ours."""
    env = {"GIT_INDEX_FILE": str(judge.place / "submodule-index")}
    judge.git.run("read-tree", f"{sha}^{{tree}}", git_dir=judge.place, env=env)
    judge.git.run("add", "--all", "--", ".", git_dir=judge.place, work_tree=folder, env=env)
    now = judge.git.run("write-tree", git_dir=judge.place, env=env)
    then = judge.git.run("rev-parse", f"{sha}^{{tree}}", git_dir=judge.place)
    return "" if now == then else "has changes that were not committed"
