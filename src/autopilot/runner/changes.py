"""Reads git's NUL-separated lists of changes. A path is bytes until it is shown.

Must not parse a format that git quotes. Source: git-diff-tree(1), "Raw output format" and `--numstat`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from autopilot.schemas.scope import ScopeLine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from autopilot.config.git import Git

Change = Literal["added", "modified", "deleted", "renamed", "type-changed"]
GITLINK_MODE = b"160000"
_WORDS: Mapping[bytes, Change] = {
    b"A": "added",
    b"C": "added",
    b"D": "deleted",
    b"M": "modified",
    b"R": "renamed",
    b"T": "type-changed",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One changed path with its modes and objects before and after."""

    path: bytes
    change: Change
    old_mode: bytes
    new_mode: bytes
    old_oid: bytes
    new_oid: bytes


def parse_raw(fields: list[bytes]) -> list[Entry]:
    """Read the fields of `--raw -z`; of a rename, `path` is the new one."""
    rest = iter(fields)
    return [_entry(head, rest) for head in rest if head.startswith(b":")]


def parse_numstat(fields: list[bytes]) -> dict[bytes, tuple[int | None, int | None]]:
    """Read the fields of `--numstat -z`: added and removed lines by path, None for a binary file."""
    counts, rest = {}, iter(fields)
    for field in rest:
        added, removed, path = field.split(b"\t", 2)
        if not path:  # a rename: the old and the new path follow as fields of their own
            next(rest)
            path = next(rest)
        counts[path] = (_lines(added), _lines(removed))
    return counts


def scope_of(git: Git, git_dir: Path, *, base: str, head: str) -> tuple[ScopeLine, ...]:
    """List what a commit changes against its base.

    Raises:
        GitError: one of the commits is not there.
    """
    between = ("-r", "-z", "-M", base, head)
    entries = parse_raw(git.lines_z("diff-tree", "--raw", "--no-abbrev", *between, git_dir=git_dir))
    counts = parse_numstat(git.lines_z("diff-tree", "--numstat", *between, git_dir=git_dir))
    return tuple(_scope_line(entry, *counts.get(entry.path, (None, None))) for entry in entries)


def shown_path(path: bytes) -> str:
    """Show a path as text; a byte that is no UTF-8 is shown by its number."""
    return path.decode("utf-8", "backslashreplace")


def _entry(head: bytes, rest: Iterator[bytes]) -> Entry:
    old_mode, new_mode, old_oid, new_oid, status = head[1:].split(b" ")
    path = next(rest)
    if status[:1] in {b"R", b"C"}:
        path = next(rest)
    return Entry(path, _WORDS.get(status[:1], "modified"), old_mode, new_mode, old_oid, new_oid)


def _lines(count: bytes) -> int | None:
    return int(count) if count.isdigit() else None


def _scope_line(entry: Entry, added: int | None, removed: int | None) -> ScopeLine:
    path = shown_path(entry.path)
    return ScopeLine(path=path, change=entry.change, added_lines=added, removed_lines=removed)
