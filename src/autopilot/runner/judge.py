"""Makes the run's one commit, in a repository of ours that the agent never sees.

Must not run git with the agent's configuration, follow its `.git`, or take its word for what it changed: the
files are read, everything else is data. Source: docs/decisions/0004 and 0021.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.git import GitError
from autopilot.config.removal import remove_tree
from autopilot.runner.changes import GITLINK_MODE, Entry, parse_raw, shown_path
from autopilot.runner.places import git_path, make_borrower

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
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
_MAX_INDEX_BYTES = 256 * 1024 * 1024


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
        submodules = self._gitlinks()
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
        self._set_index(pristine.index, pristine.index_mtime_ns)
        self._hide([*self._gitlinks(), *absent])
        if embedded := self._embedded():
            names = ", ".join(shown_path(path) for path in embedded[:_MAX_NAMED])
            problem = f"a folder is a git repository of its own and cannot be committed: {names}"
            return Snapshot("", is_changed=True, problems=(problem,))
        try:
            self._add()
        except GitError as exc:
            problem = f"the files cannot be read into a commit: {exc.stderr_tail or exc.what}"
            return Snapshot("", is_changed=True, problems=(problem,))
        self._drop_dirt(pristine)
        tree = self._run("write-tree").decode().strip()
        base_tree = self._run("rev-parse", f"{self.workspace.base_sha}^{{tree}}").decode().strip()
        notes = ("submodules are left as they are in the base",) if pristine.has_submodules else ()
        return Snapshot(tree, is_changed=tree != base_tree, notes=notes)

    def _add(self) -> None:
        self.git.run(
            *("add", "--all", "--", "."),
            git_dir=self.place,
            work_tree=self.workspace.worktree,
            config={"advice.addEmbeddedRepo": "false", "core.safecrlf": "false", **self.filters},
        )

    def _embedded(self) -> list[bytes]:
        """Untracked folders with a repository inside: git lists them with a slash, and not their files."""
        untracked = self.git.lines_z(
            *("ls-files", "-z", "--others", "--exclude-standard"),
            git_dir=self.place,
            work_tree=self.workspace.worktree,
            cwd=self.workspace.worktree,
        )
        return [path for path in untracked if path.endswith(b"/")]

    def _gitlinks(self) -> list[bytes]:
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


def absent_by_sparse_checkout(judge: Judge) -> list[bytes]:
    """List the tracked paths that a sparse checkout, which the agent may have made, keeps off the disk.

    The agent's index is read as data, by our repository; a damaged one lists nothing.

    Raises:
        OSError: the index cannot be copied.
    """
    workspace = judge.workspace
    index = workspace.admin / "index"
    if not (workspace.admin / "info" / "sparse-checkout").is_file():
        return []
    copy = judge.place / "agent-index"
    try:
        copy.write_bytes(read_plain(index, max_bytes=_MAX_INDEX_BYTES))
    except UnreadableError:
        return []
    try:
        env = {"GIT_INDEX_FILE": str(copy)}
        listed = judge.git.lines_z("ls-files", "-z", "-t", git_dir=judge.place, env=env)
    except GitError:
        return []
    top = os.fsencode(workspace.worktree) + b"/"
    return [entry[2:] for entry in listed if entry.startswith(b"S ") and not os.path.lexists(top + entry[2:])]
