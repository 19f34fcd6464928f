"""A copy of a worktree with nothing in it that git stumbles over: plain files and links, taken by handle.

Must not open what somebody else may have put there, follow a link, or keep a second copy of the content where
the disk can give a file a second name. Source: link(2); docs/decisions/0028.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autopilot.config.removal import remove_tree
from autopilot.config.rights import open_below, open_folder
from autopilot.runner.changes import shown_path
from autopilot.runner.lookover import MAX_RULES_BYTES, RULES, kind_of_odd
from autopilot.runner.replica import NO_LINK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_GIT = ".git"
_MAX_DEPTH, _MAX_PATH_BYTES = 200, 3500
_MAX_ENTRIES = 5_000_000
_MAX_COPIED_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Copy:
    """What is not in the copy, by path; and the same in words, with the reason."""

    left: list[bytes] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def leave(self, path: str, why: str) -> None:
        """Note one more."""
        raw = os.fsencode(path)
        self.left.append(raw)
        self.told.append(f"{shown_path(raw)} {why}")


@contextmanager
def copied(worktree: Path, place: Path, *, without: Iterable[bytes]) -> Iterator[Copy]:
    """Have a copy of a worktree for the length of a block.

    Args:
        worktree: whose files are given a second name.
        place: where; on the same disk, or the content is copied.
        without: folders of which nothing is taken.

    Raises:
        OSError: the worktree cannot be opened, or the copy not be written.
    """
    remove_tree(place)
    place.mkdir(mode=0o700)
    try:
        copying = _Copying(frozenset(os.fsdecode(path) for path in without))
        folder = open_below(worktree.parent, worktree.name)
        try:
            copying.take(folder, place, within="", depth=0)
        finally:
            os.close(folder)
        yield copying.copy
    finally:
        remove_tree(place)


class _Copying:
    def __init__(self, without: frozenset[str]) -> None:
        self.copy = Copy()
        self._without = without
        self._seen = self._copied_bytes = 0

    def take(self, folder: int, into: Path, *, within: str, depth: int) -> None:
        with os.scandir(folder) as entries:
            for entry in entries:
                self._seen += 1
                if self._seen > _MAX_ENTRIES:
                    self.copy.leave(
                        within or ".", f"is left where more than {_MAX_ENTRIES} files had been seen"
                    )
                    return
                self._entry(folder, entry.name, into, path=f"{within}{entry.name}", depth=depth)

    def _entry(self, folder: int, name: str, into: Path, *, path: str, depth: int) -> None:
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        if name.casefold() == _GIT:
            if depth:
                self.copy.leave(path, "is a repository of its own; the files beside it are saved")
        elif stat.S_ISDIR(status.st_mode):
            self._folder(folder, name, into / name, path=path, depth=depth)
        elif (kind := kind_of_odd(status)) is not None:
            self.copy.leave(path, f"is {kind}")
        elif name.casefold() in RULES and status.st_size > MAX_RULES_BYTES:
            self.copy.leave(path, f"is larger than {MAX_RULES_BYTES >> 20} MiB")
        else:
            self._try(folder, name, into / name, path=path)

    def _folder(self, folder: int, name: str, into: Path, *, path: str, depth: int) -> None:
        if depth >= _MAX_DEPTH or len(os.fsencode(path)) > _MAX_PATH_BYTES:
            self.copy.leave(path, "lies too deep")
            return
        into.mkdir()
        if path in self._without:
            return
        try:
            below = open_folder(folder, name)
        except OSError as exc:
            self.copy.leave(path, f"cannot be opened: {exc.strerror}")
            return
        try:
            self.take(below, into, within=f"{path}/", depth=depth + 1)
        finally:
            os.close(below)

    def _try(self, folder: int, name: str, to: Path, *, path: str) -> None:
        """Give a file a second name in our folder, where nobody else can put another in its place."""
        try:
            os.link(name, to, src_dir_fd=folder, follow_symlinks=False)
        except OSError as exc:
            if exc.errno not in NO_LINK:
                raise
            self._copy(folder, name, to, path=path)
            return
        status = to.lstat()
        if stat.S_ISREG(status.st_mode) and not status.st_mode & stat.S_IRUSR:
            try:
                to.chmod(stat.S_IMODE(status.st_mode) | stat.S_IRUSR)
            except PermissionError as exc:
                to.unlink()
                self.copy.leave(path, f"cannot be read: {exc.strerror}")

    def _copy(self, folder: int, name: str, to: Path, *, path: str) -> None:
        try:
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except OSError as exc:
            self._copy_link(folder, name, to, path=path, why=exc.strerror or "")
            return
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            self._copied_bytes += status.st_size
            if not stat.S_ISREG(status.st_mode) or self._copied_bytes > _MAX_COPIED_BYTES:
                self._copied_bytes -= status.st_size
                self.copy.leave(path, f"would make more than {_MAX_COPIED_BYTES >> 20} MiB to copy")
                return
            with to.open("xb") as target:
                shutil.copyfileobj(file, target)
            to.chmod(stat.S_IMODE(status.st_mode) & 0o777 | stat.S_IRUSR)

    def _copy_link(self, folder: int, name: str, to: Path, *, path: str, why: str) -> None:
        try:
            to.symlink_to(os.readlink(name, dir_fd=folder))
        except OSError:
            self.copy.leave(path, f"cannot be read: {why}")
