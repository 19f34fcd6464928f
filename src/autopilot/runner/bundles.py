"""What a salvage is written down as: a bundle that was read back once, and a patch for people.

Must not call a bundle good that does not give back what was put into it.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

from autopilot.config.atomic import flush
from autopilot.config.git import GitError
from autopilot.config.removal import remove_tree
from autopilot.runner.places import make_borrower
from autopilot.schemas.errors import AutopilotError

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.runner.judge import Judge
    from autopilot.schemas.salvage import Salvage

_MAX_PATCH_BYTES = 256 * 1024 * 1024


class UnsavedError(AutopilotError):
    """Something in a worktree could not be saved; it must stay. `rest` is what could be, if anything."""

    rest: Salvage | None = None

    def unsaved(self) -> tuple[str, ...]:
        """Name what could not be saved, each with its reason."""
        return (self.rest.unsaved if self.rest else ()) or (self.what,)


def write_bundle(judge: Judge, file: Path, refs: tuple[str, ...], *, tree: str, head: str | None) -> str:
    """Write all that the base does not hold into one file, and read it back into a repository made for that.

    Args:
        judge: the repository to take it from.
        file: to be written.
        refs: beginnings of the names of what goes into it.
        tree: which files `head` must give back.
        head: the commit of the files, where they were changed.

    Returns:
        Its SHA-256.

    Raises:
        UnsavedError: it does not give back what was put into it.
        GitError, OSError: it cannot be written or read.

    Source: git-bundle(1); the base itself, which the remote has, is a prerequisite.
    """
    git, base = judge.git, judge.workspace.base_sha
    names = git.run("for-each-ref", "--format=%(refname)", *refs, git_dir=judge.place).decode().split()
    git.run("bundle", "create", "--quiet", str(file), *names, f"^{base}", git_dir=judge.place)
    _sync(file)
    proof = judge.place.with_name("rescue-proof.git")
    remove_tree(proof)
    try:
        make_borrower(git, proof, mirror=judge.mirror, sha=base)
        git.run("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", str(file), "refs/*:refs/*",
                git_dir=proof)  # fmt: skip
        if head and git.run("rev-parse", f"{head}^{{tree}}", git_dir=proof).decode().strip() != tree:
            raise UnsavedError("work-unsaved", f"{file} does not give back what was put into it")
    finally:
        remove_tree(proof)
    return _digest(file)


def write_patch(judge: Judge, file: Path, head: str) -> bool:
    """Write the change for people, where it is not too large for that; the bundle holds all of it."""
    options = ("--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
    span = (judge.workspace.base_sha, head)
    with suppress(GitError, OSError):
        judge.git.run("diff", *options, f"--output={file}", *span, "--", git_dir=judge.place)
        if file.stat().st_size <= _MAX_PATCH_BYTES:
            _sync(file)
            return True
    file.unlink(missing_ok=True)
    return False


def is_whole(old: Salvage) -> bool:
    """Tell whether the files of a record are still what was written."""
    try:
        return old.bundle is None or _digest(old.bundle) == old.bundle_sha256
    except OSError:
        return False


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _sync(file: Path) -> None:
    with file.open("rb") as content:
        flush(content.fileno())
