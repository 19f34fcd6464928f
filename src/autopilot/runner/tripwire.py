"""Notices when somebody changed how a repository behaves: its configuration, hooks, attributes, borrowing.

Must not run git in the repository it watches, except to mend one key of the user's own.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.git import GitError
from autopilot.runner.places import git_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from autopilot.config.git import Git
    from autopilot.runner.worktree import Workspace

_WATCHED = (
    *("HEAD", "config", "config.worktree", "commondir", "shallow", "hooks", "info"),  # info/grafts too
    *("objects/info/alternates", "objects/info/http-alternates", "refs/replace"),
)
# That they are there is enough: recorded merges are used once the folder exists, and a name in the other two
# stands for an address. Source: git-config(1), rerere.enabled; gitrepository-layout(5).
_FOLDERS = ("rr-cache", "remotes", "branches")
# An agent's own, but no links: a linked object store borrows without `alternates`, and linked references are
# somebody else's.
_NO_LINKS = (
    "objects",
    "objects/pack",
    "objects/info",
    "refs",
    "refs/heads",
    "refs/tags",
    "logs",
    "worktrees",
)
# Not `info/sparse-checkout`: which files an agent has on the disk is its own affair.
_OF_A_WORKTREE = ("config.worktree", "commondir", "gitdir", "info/attributes", "info/exclude", "hooks")
_PACKED, _REPLACING = "packed-refs", b" refs/replace/"
_MAX_FILES = 1000
_MAX_BYTES = 4 * 1024 * 1024


def fingerprint(workspace: Workspace) -> Mapping[str, str]:
    """Digest what decides how git behaves in the agent's repository and worktree."""
    places = [workspace.repository / name for name in _WATCHED]
    places += [workspace.admin / name for name in _OF_A_WORKTREE]
    places.append(workspace.worktree / ".git")
    places += (each for name in _NO_LINKS if (each := workspace.repository / name).is_symlink())
    places += _other_worktrees(workspace)
    folders = [each for name in _FOLDERS if os.path.isdir(each := workspace.repository / name)]  # noqa: PTH112
    files = itertools.chain(folders, (file for place in places for file in _files(place)))
    prints = (
        (_shown(file, workspace), _digest(file)) for file, _ in zip(files, range(_MAX_FILES), strict=False)
    )
    packed = workspace.repository / _PACKED
    return dict(sorted([*prints, (_shown(packed, workspace), _replacements(packed))]))


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """Name the files that were changed, added or removed, in order."""
    return tuple(sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)))


@dataclass(frozen=True, slots=True)
class UserConfig:
    """The configuration of the user's own clone as it was, when the repository is fetched from there."""

    path: Path
    content: bytes
    bare: bytes | None

    @classmethod
    def note(cls, git: Git, url: str) -> UserConfig | None:
        """Note it, or None when the repository lies on another machine or cannot be read."""
        place = local_path(url)
        if place is None or not place.is_dir():
            return None
        try:
            common = git.run("rev-parse", "--path-format=absolute", "--git-common-dir", cwd=place)
            path = git_path(git, Path(os.fsdecode(common.rstrip(b"\n"))), "config")
            return cls(path, path.read_bytes(), _bare(git, path))
        except (GitError, OSError):
            return None

    def mend(self, git: Git) -> tuple[str, ...]:
        """Put back `core.bare` where it was flipped, and say what is different now.

        Anything else is only told: it may be the user who works there.

        Raises:
            GitError, OSError: the configuration cannot be read or written.
        """
        if self.path.read_bytes() == self.content:
            return ()
        told = ["the configuration of the user's clone was changed during the run"]
        if _bare(git, self.path) != self.bare:
            self._put_back(git)
            told.append("core.bare of the user's clone was flipped and has been put back")
        return tuple(told)

    def _put_back(self, git: Git) -> None:
        target = ("config", "--file", str(self.path))
        if self.bare is None:
            git.run(*target, "--unset-all", "core.bare")
        else:
            git.run(*target, "--replace-all", "core.bare", self.bare.decode())


def local_path(url: str) -> Path | None:
    """Give the folder that an address names on this machine, or None."""
    if url.startswith("/"):
        return Path(url)
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _shown(file: Path, workspace: Workspace) -> str:
    """Name a file without telling where on this machine it lies."""
    for root in (workspace.repository, workspace.worktree):
        if file.is_relative_to(root):
            return f"{root.name}/{file.relative_to(root)}"
    return file.name


def _bare(git: Git, config: Path) -> bytes | None:
    try:
        return git.run("config", "--file", str(config), "--get", "core.bare").rstrip(b"\n")
    except GitError:
        return None


def _files(place: Path) -> Iterator[Path]:
    """Give a file, or the files below a folder, however deep; a folder that is closed to us is named too."""
    if place.is_symlink() or not place.is_dir():
        yield from (place,) if os.path.lexists(place) else ()
        return
    folders = [place]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(folder / entry.name)
                    elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
                        yield folder / entry.name
        except OSError:
            yield folder


def _other_worktrees(workspace: Workspace) -> list[Path]:
    """Name what links worktrees that are not the run's: they share its references and configuration."""
    try:
        return [each for each in workspace.admin.parent.iterdir() if each.name != workspace.admin.name]
    except OSError:
        return []


def _replacements(packed: Path) -> str:
    """Digest the packed references that replace an object; the others are an agent's to pack."""
    try:
        lines = read_plain(packed, max_bytes=_MAX_BYTES).splitlines()
    except UnreadableError as exc:
        return f"unreadable: {exc}" if packed.is_symlink() or packed.exists() else "none"
    replacing = [line for line in lines if _REPLACING in line]
    return hashlib.sha256(b"\n".join(replacing)).hexdigest() if replacing else "none"


def _digest(file: Path) -> str:
    try:
        if file.is_symlink():
            return f"-> {os.fsdecode(file.readlink())}"
        if file.is_dir():
            return "folder"
        content = hashlib.sha256(read_plain(file, max_bytes=_MAX_BYTES)).hexdigest()
        return f"{content} {'may' if os.access(file, os.X_OK) else 'may not'} be run"
    except UnreadableError as exc:
        return f"unreadable: {exc}"
    except OSError as exc:
        return f"unreadable: {exc.strerror}"
