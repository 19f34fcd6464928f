"""The commits between base and head, and what they change, as read from the staging repository.

Only plumbing with NUL-terminated or fixed formats. Must not judge.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.publish.context import BASE_REF, HEAD_REF
from autopilot.schemas.errors import TicketError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from autopilot.config.git import Git

GITLINK = "160000"
SYMLINK = "120000"
_STATUS: Mapping[str, str] = {"A": "added", "D": "deleted", "M": "modified", "T": "type-changed"}
_RAW = ("diff-tree", "-r", "-z", "--raw", "--no-renames")
_BATCH_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit, its headers as bytes because a name need not be UTF-8."""

    sha: str
    parents: tuple[str, ...]
    author: bytes
    committer: bytes
    message: bytes


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs between two trees. A blob's name is empty where there is none on that side."""

    path: str
    change: str
    old_mode: str
    new_mode: str
    old_blob: str
    new_blob: str
    added_lines: int | None = None
    removed_lines: int | None = None

    @property
    def is_file(self) -> bool:
        """Whether there is a blob with content after the change."""
        return self.change != "deleted" and self.new_mode != GITLINK


def commits(git: Git, staging: Path) -> tuple[Commit, ...]:
    """Read every commit that head has and base has not, oldest first.

    Raises:
        GitError: an object is missing.
    """
    listed = git.run("rev-list", "--reverse", "--topo-order", HEAD_REF, f"^{BASE_REF}", git_dir=staging)
    return tuple(_commit(git, staging, sha) for sha in listed.decode().split())


def changes_of(git: Git, staging: Path, commit: Commit) -> tuple[Change, ...]:
    """List what a commit changes against each of its parents, or against nothing when it has none.

    Raises:
        GitError: a tree is missing.
    """
    sides = commit.parents or (_empty_tree(git, staging),)
    found: dict[Change, None] = {}
    for side in sides:
        found |= dict.fromkeys(_changes(git, staging, side, commit.sha))
    return tuple(found)


def changes(git: Git, staging: Path) -> tuple[Change, ...]:
    """List what head changes against base as a whole, with line counts.

    Raises:
        GitError: a tree is missing.
    """
    counts = dict(_line_counts(git, staging))
    return tuple(
        Change(
            path=each.path,
            change=each.change,
            old_mode=each.old_mode,
            new_mode=each.new_mode,
            old_blob=each.old_blob,
            new_blob=each.new_blob,
            added_lines=counts.get(each.path, (None, None))[0],
            removed_lines=counts.get(each.path, (None, None))[1],
        )
        for each in _changes(git, staging, BASE_REF, HEAD_REF)
    )


def sizes(git: Git, staging: Path, blobs: tuple[str, ...]) -> dict[str, int]:
    """Give the size in bytes of each blob that is there."""
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    answer = git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", git_dir=staging, stdin=asked)
    rows = (line.split() for line in answer.decode().splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}  # noqa: PLR2004 - a pair


def contents(git: Git, staging: Path, size_of: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
    """Read blobs, a bounded number of bytes at a time.

    Args:
        git: the funnel.
        staging: where the blobs are.
        size_of: the blobs wanted, and the size of each in bytes.

    Raises:
        TicketError: one is missing.
    """
    batch: list[str] = []
    waiting_bytes = 0
    for blob, size_bytes in size_of.items():
        batch.append(blob)
        waiting_bytes += size_bytes
        if waiting_bytes >= _BATCH_BYTES:
            yield from _batch(git, staging, batch)
            batch, waiting_bytes = [], 0
    if batch:
        yield from _batch(git, staging, batch)


def _batch(git: Git, staging: Path, blobs: list[str]) -> Iterator[tuple[str, bytes]]:
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    answer = git.run("cat-file", "--batch=%(objectname) %(objectsize)", git_dir=staging, stdin=asked)
    start = 0
    for blob in blobs:
        line_end = answer.index(b"\n", start)
        name, _, size = answer[start:line_end].partition(b" ")
        if name.decode() != blob or not size.isdigit():
            what = f"the object {blob[:12]} is not in the staging repository"
            raise TicketError("blob-missing", what, hint="have it worked on again: autopilot retry")
        end = line_end + 1 + int(size)
        yield blob, answer[line_end + 1 : end]
        start = end + 1


def _commit(git: Git, staging: Path, sha: str) -> Commit:
    raw = git.run("cat-file", "commit", sha, git_dir=staging)
    head, _, message = raw.partition(b"\n\n")
    fields = [line.partition(b" ") for line in head.split(b"\n") if not line.startswith(b" ")]
    return Commit(
        sha=sha,
        parents=tuple(value.decode() for key, _, value in fields if key == b"parent"),
        author=b"\n".join(value for key, _, value in fields if key == b"author"),
        committer=b"\n".join(value for key, _, value in fields if key == b"committer"),
        message=message,
    )


def _empty_tree(git: Git, staging: Path) -> str:
    return git.run("mktree", git_dir=staging, stdin=b"").decode().strip()


def _changes(git: Git, staging: Path, old: str, new: str) -> Iterator[Change]:
    fields = iter(git.lines_z(*_RAW, old, new, git_dir=staging))
    for meta in fields:
        old_mode, new_mode, old_blob, new_blob, status = meta.decode().removeprefix(":").split()
        yield Change(
            path=os.fsdecode(next(fields)),
            change=_STATUS.get(status[0], "modified"),
            old_mode=old_mode,
            new_mode=new_mode,
            old_blob=old_blob.strip("0") and old_blob,
            new_blob=new_blob.strip("0") and new_blob,
        )


def _line_counts(git: Git, staging: Path) -> Iterator[tuple[str, tuple[int | None, int | None]]]:
    args = ("diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv")
    for row in git.lines_z(*args, BASE_REF, HEAD_REF, git_dir=staging):
        added, removed, path = row.split(b"\t", 2)
        yield os.fsdecode(path), (_number(added), _number(removed))


def _number(text: bytes) -> int | None:
    return int(text) if text.isdigit() else None
