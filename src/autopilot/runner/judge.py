"""Makes the run's one commit, in a repository of ours that the agent never sees.

Must not run git with the agent's configuration, follow its `.git`, or take its word for what it changed: the
files are read, everything else is data. Source: docs/decisions/0004 and 0021.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config.git import GitError
from autopilot.config.gitfault import OF_THE_MACHINE
from autopilot.config.removal import remove_tree
from autopilot.runner.changes import GITLINK_MODE, Entry, parse_raw, shown_path
from autopilot.runner.lookover import obstacles
from autopilot.runner.places import git_path, make_borrower

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from autopilot.config.git import Git
    from autopilot.runner.worktree import Workspace

# What tools and agents drop into a folder and no repository wants. Only untracked files are left out by it.
DROPPINGS = (
    *(
        "__pycache__/",
        "*.py[co]",
        ".pytest_cache/",
        ".mypy_cache/",
        ".ruff_cache/",
        ".hypothesis/",
        ".coverage",
    ),
    *("node_modules/", ".npm/", ".DS_Store", "Thumbs.db", "*.swp", "*~"),
    *(".aider*", ".claude/settings.local.json"),
)
_MAX_NAMED = 5
_LARGEST, _LARGEST_WITH_FILTERS = 128 << 20, 4 << 30
"""Bytes of a file that goes into a commit; git-lfs, where it is used, keeps large ones elsewhere."""
_SIZE_COLUMN = 3


@dataclass(frozen=True, slots=True)
class Pristine:
    """The worktree before the agent: git's list with file times, and paths that were dirty from the start.

    `dirt` is what a disk that folds case, or a line-end rule, makes of an untouched checkout.
    """

    index: bytes
    index_mtime_ns: int
    dirt: Mapping[bytes, Entry]
    has_submodules: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files as one tree. `problems` say what cannot be in a commit; then there is no tree."""

    tree: str
    is_changed: bool
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judge:
    """Our repository beside the agent's, and the worktree whose files it reads."""

    git: Git
    place: Path
    mirror: Path
    workspace: Workspace
    filters: Mapping[str, str]

    def prepare(self) -> Pristine:
        """Note how the worktree looks before the agent; to be called before it starts.

        Raises:
            GitError, OSError: the worktree cannot be read.
        """
        self.renew()
        source = self.workspace.admin / "index"
        index, mtime_ns = source.read_bytes(), source.stat().st_mtime_ns
        self._set_index(index, mtime_ns)
        submodules = self.gitlinks()
        self._hide(submodules)
        self._add()
        dirt = {entry.path: entry for entry in self._changes()}
        return Pristine(index, mtime_ns, dirt, has_submodules=bool(submodules))

    def renew(self) -> None:
        """Make the repository anew: nothing that was done to an earlier one counts.

        Raises:
            GitError, OSError: it cannot be made.
        """
        if self.place.exists():
            remove_tree(self.place)
        make_borrower(self.git, self.place, mirror=self.mirror, sha=self.workspace.base_sha)
        exclude = git_path(self.git, self.place, "info/exclude")
        exclude.parent.mkdir(exist_ok=True)
        exclude.write_text("".join(f"{pattern}\n" for pattern in DROPPINGS))

    def snapshot(self, pristine: Pristine, *, absent: Iterable[bytes] = ()) -> Snapshot:
        """Take the files of the worktree into one tree.

        Args:
            pristine: from `prepare`.
            absent: tracked paths that a sparse checkout of the agent's keeps off the disk; no deletions.

        Raises:
            GitError, OSError: our own repository cannot be used.
        """
        if odd := obstacles(self.workspace.worktree):
            return _no_tree(*odd)
        self._set_index(pristine.index, pristine.index_mtime_ns)
        self._hide([*self.gitlinks(), *self._tracked(absent)])
        try:
            untracked = self._untracked()
            if embedded := [path for path in untracked if path.endswith(b"/")]:
                names = ", ".join(shown_path(path) for path in embedded[:_MAX_NAMED])
                return _no_tree(f"a folder is a git repository of its own and cannot be committed: {names}")
            if large := self._too_large(untracked):
                names = ", ".join(shown_path(path) for path in large[:_MAX_NAMED])
                return _no_tree(f"larger than {self._largest() >> 20} MiB, so not to be committed: {names}")
            self._add()
        except GitError as exc:
            if exc.code in OF_THE_MACHINE:
                raise
            return _no_tree(f"the files cannot be read into a commit: {exc.stderr_tail or exc.what}")
        self._drop_dirt(pristine)
        tree = self._run("write-tree").decode().strip()
        base_tree = self._base_tree()
        notes = ("submodules are left as they are in the base",) if pristine.has_submodules else ()
        return Snapshot(tree, is_changed=tree != base_tree, notes=notes)

    def all_that_can_be(
        self, pristine: Pristine, *, absent: Iterable[bytes], left: Iterable[bytes]
    ) -> Snapshot:
        """Take what git can read into one tree; for a copy of the files, for what is too large goes from it.

        Args:
            pristine: the base's list.
            absent: as of `snapshot`.
            left: paths that the copy has not, or not the files of; they count as unchanged.

        Raises:
            GitError, OSError: our own repository cannot be used.
        """
        self._set_index(pristine.index, pristine.index_mtime_ns)
        self._hide([*self.gitlinks(), *self._tracked(absent), *self._tracked_below(left)])
        large = self._too_large(self._untracked())
        for path in large:
            (self.workspace.worktree / os.fsdecode(path)).unlink()
        self._hide(self._tracked(large))
        try:
            self._add("--ignore-errors")
        except GitError as exc:
            if exc.code != "git-failed":
                raise
        rest = [*self._untracked(), *self._asked("diff-files", "-z", "--name-only")]
        told = [f"larger than {self._largest() >> 20} MiB: {shown_path(path)}" for path in large]
        told += [f"git does not take it: {shown_path(path)}" for path in rest]
        tree, base_tree = self._run("write-tree").decode().strip(), self._base_tree()
        return Snapshot(tree, is_changed=tree != base_tree, notes=tuple(told))

    def _base_tree(self) -> str:
        return self._run("rev-parse", f"{self.workspace.base_sha}^{{tree}}").decode().strip()

    def _tracked_below(self, paths: Iterable[bytes]) -> list[bytes]:
        """Give those that our own list holds and that are one of these, or in it."""
        named = set(paths)
        listed = self.git.lines_z("ls-files", "-z", git_dir=self.place) if named else []
        return [path for path in listed if any(each in named for each in _upwards(path))]

    def _add(self, *options: str) -> None:
        self.git.run(
            *("add", "--all", *options, "--", "."),
            git_dir=self.place,
            work_tree=self.workspace.worktree,
            config={"advice.addEmbeddedRepo": "false", "core.safecrlf": "false", **self.filters},
        )

    def _untracked(self) -> list[bytes]:
        """List what git would add; folders with a repository inside with a slash, and not their files."""
        return self._asked("ls-files", "-z", "--others", "--exclude-standard")

    def _too_large(self, untracked: Iterable[bytes]) -> list[bytes]:
        """List what no git of ours should read: told by size alone, and a hole in a file costs nothing.

        What the base holds at that size already is its own affair.
        """
        changed = self._asked("diff-files", "-z", "--name-only")
        large = {
            path: size for path in {*untracked, *changed} if (size := self._size(path)) > self._largest()
        }
        return sorted(path for path, size in large.items() if size > self._size_in_base(path))

    def _largest(self) -> int:
        return _LARGEST_WITH_FILTERS if self.filters else _LARGEST

    def _size(self, path: bytes) -> int:
        try:
            return (self.workspace.worktree / os.fsdecode(path)).lstat().st_size
        except OSError:
            return 0

    def _size_in_base(self, path: bytes) -> int:
        named = ("ls-tree", "-z", "-l", self.workspace.base_sha, "--", os.fsdecode(path))
        head = self._run(*named).partition(b"\t")[0].split()
        return int(head[3]) if len(head) > _SIZE_COLUMN and head[3].isdigit() else 0

    def _asked(self, *args: str) -> list[bytes]:
        """Ask about the files, where they are."""
        tree = self.workspace.worktree
        return self.git.lines_z(*args, git_dir=self.place, work_tree=tree, cwd=tree)

    def _tracked(self, paths: Iterable[bytes]) -> set[bytes]:
        """Give those that our own list holds: the agent's may name what never was."""
        named = set(paths)
        return named & set(self.git.lines_z("ls-files", "-z", git_dir=self.place)) if named else named

    def gitlinks(self) -> list[bytes]:
        """List the submodules of our own list."""
        staged = self.git.lines_z("ls-files", "-z", "--stage", git_dir=self.place)
        return [entry.partition(b"\t")[2] for entry in staged if entry.startswith(GITLINK_MODE)]

    def _hide(self, paths: Iterable[bytes]) -> None:
        """Take the index's word for these paths: git neither looks at them nor runs anything in them."""
        listed = b"".join(path + b"\0" for path in paths)
        if listed:
            self.git.run(
                *("update-index", "-z", "--skip-worktree", "--stdin"),
                git_dir=self.place,
                work_tree=self.workspace.worktree,
                stdin=listed,
            )

    def _changes(self) -> list[Entry]:
        return parse_raw(
            self.git.lines_z(
                *("diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev"),
                self.workspace.base_sha,
                git_dir=self.place,
            )
        )

    def _drop_dirt(self, pristine: Pristine) -> None:
        """Put back the base's entry where a path is exactly as it was before the agent."""
        now = {entry.path: entry for entry in self._changes()} if pristine.dirt else {}
        same = [entry for path, entry in pristine.dirt.items() if now.get(path) == entry]
        lines = b"".join(b"%s %s\t%s\0" % (entry.old_mode, entry.old_oid, entry.path) for entry in same)
        if lines:
            self._run("update-index", "-z", "--index-info", stdin=lines)

    def _set_index(self, index: bytes, mtime_ns: int) -> None:
        """Put git's list in place with its own time.

        Git compares whole seconds, and looks into a file again when it is as young as the list: a list that
        looked younger would hide an edit of the same size in the same second. Source: git's racy-git.txt.
        """
        path = self.place / "index"
        path.write_bytes(index)
        os.utime(path, ns=(mtime_ns, mtime_ns))

    def _run(self, *args: str, stdin: bytes = b"") -> bytes:
        return self.git.run(*args, git_dir=self.place, stdin=stdin)


def _upwards(path: bytes) -> Iterator[bytes]:
    yield path
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path


def _no_tree(*problems: str) -> Snapshot:
    return Snapshot("", is_changed=True, problems=problems)
