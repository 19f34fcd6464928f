"""Looks a worktree over before any git does: what would hold git up, or lead it elsewhere, is named.

Must not open what somebody else may have put there, but for short plain files; folders that were closed to us
are opened again. Source: gitignore(5), gitattributes(5), gitrepository-layout(5); docs/decisions/0157.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.rights import OURS, give_back
from autopilot.runner.changes import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator

RULES = frozenset({".gitignore", ".gitattributes", ".gitmodules", ".mailmap"})
MAX_RULES_BYTES = 16 << 20
_GIT = ".git"
_READ_FIRST = ("HEAD", "config", "commondir", "packed-refs")
_MAX_LINK_BYTES = 4096
_MAX_ENTRIES = 5_000_000
_TOLD = 5
_BEYOND_GIT = frozenset({errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR})
_ODD = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISCHR, "a device"),
)


def obstacles(worktree: Path) -> tuple[str, ...]:
    """Say what must go before a commit can be made of a worktree; at most a few things at once."""
    found = []
    for problem in _problems(worktree):
        found.append(problem)
        if len(found) == _TOLD:
            break
    return tuple(found)


def _problems(worktree: Path) -> Iterator[str]:
    folders, seen = [os.fspath(worktree)], 0
    while folders:
        folder = folders.pop()
        try:
            entries = _entries(folder)
            for name, status in entries:
                seen += 1
                path = os.path.join(folder, name)  # noqa: PTH118 - a Path for each file of a tree takes long
                if name.casefold() == _GIT:
                    yield from _repository(path, status, worktree) if folder != os.fspath(worktree) else ()
                elif name.casefold() in RULES:
                    yield from _rules(path, status, worktree)
                elif stat.S_ISDIR(status.st_mode):
                    folders.append(path)
        except OSError as exc:
            if exc.errno not in _BEYOND_GIT:
                yield f"{_shown(folder, worktree)} cannot be looked at: {exc.strerror}"
        if seen > _MAX_ENTRIES:
            yield f"the folder holds more than {_MAX_ENTRIES} files"
            return


def _entries(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    if stat.S_IMODE(os.lstat(folder).st_mode) & OURS != OURS:
        give_back(Path(folder))
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry.name, entry.stat(follow_symlinks=False)


def _rules(path: str, status: os.stat_result, worktree: Path) -> Iterator[str]:
    """Judge a file that git reads before all others; of a link it reads nothing. Source: gitignore(5)."""
    if kind := kind_of_odd(status):
        yield f"{_shown(path, worktree)} is {kind}, and git would wait for it"
    elif stat.S_ISREG(status.st_mode) and status.st_size > MAX_RULES_BYTES:
        yield f"{_shown(path, worktree)} is larger than {MAX_RULES_BYTES >> 20} MiB"


def _repository(path: str, status: os.stat_result, worktree: Path) -> Iterator[str]:
    """Judge a repository inside: git looks whether it is one, also where it is not to be committed."""
    shown = _shown(path, worktree)
    if stat.S_ISLNK(status.st_mode):
        yield f"{shown} is a link: git would read another repository in its place"
        return
    if kind := kind_of_odd(status):
        yield f"{shown} is {kind}"
        return
    place = path if stat.S_ISDIR(status.st_mode) else _named_in(path)
    if place is None or not os.path.lexists(place):
        return
    try:
        names = [*_READ_FIRST, *(name for name, _ in _entries_below(place, "refs"))]
        for name in names:
            below = Path(place, name)
            if os.path.lexists(below) and not stat.S_ISREG(below.lstat().st_mode):
                yield f"{shown} is a repository with no plain file for {shown_path(os.fsencode(name))}"
                return
    except OSError as exc:
        if exc.errno not in _BEYOND_GIT:
            yield f"{shown} cannot be looked at: {exc.strerror}"


def _named_in(path: str) -> str | None:
    try:
        text = os.fsdecode(read_plain(Path(path), max_bytes=_MAX_LINK_BYTES)).strip()
    except UnreadableError:
        return None
    named = text.removeprefix("gitdir:").strip()
    is_named = text.startswith("gitdir:") and "\0" not in named
    return os.path.normpath(Path(path).parent / named) if is_named else None


def _entries_below(place: str, name: str) -> Iterator[tuple[str, os.stat_result]]:
    """Go through the files below a folder; links are not followed, and folders not given."""
    folders = [name] if os.path.lexists(os.path.join(place, name)) else []  # noqa: PTH118 - as above
    while folders:
        folder = folders.pop()
        for each, status in _entries(os.path.join(place, folder)):  # noqa: PTH118
            if stat.S_ISDIR(status.st_mode):
                folders.append(f"{folder}/{each}")
            else:
                yield f"{folder}/{each}", status


def kind_of_odd(status: os.stat_result) -> str | None:
    """Say what it is when it is no file, no folder and no link."""
    return next((word for is_it, word in _ODD if is_it(status.st_mode)), None)


def _shown(path: str, worktree: Path) -> str:
    return shown_path(os.fsencode(os.path.relpath(path, worktree)))
