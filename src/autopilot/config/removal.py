"""Removes a folder, however deep, closed or restless it is: renamed aside first, deleted afterwards.

Must not follow a link, leave the file system that the folder lies on, or go by a path once it has begun:
every step is taken from an open folder, so that nobody can put another one in its way.
Source: openat(2), unlinkat(2), renameat(2); docs/decisions/0024.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config.rights import OURS, give_back, open_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ASIDE = ".removing"
"""Beside what is removed: whatever lies in it was decided on, and only waits to be deleted."""
_TURNS = 20
"""Looks into a folder in which somebody makes new files all the time."""
_RESTLESS = frozenset({errno.ENOTEMPTY, errno.EEXIST})


def begin_removal(path: Path) -> Path:
    """Rename a folder into `.removing` beside it: from now on nothing finds it under its name.

    Returns:
        Where it is now.

    Raises:
        OSError: it cannot be renamed; it is as it was.
    """
    place = path.parent / ASIDE
    place.mkdir(mode=OURS, exist_ok=True)
    if place.is_symlink():
        raise OSError(errno.ELOOP, f"{place} is a link")
    target = place / f"{path.name}-{secrets.token_hex(4)}"
    give_back(path)  # a folder that is closed to us cannot be moved
    path.rename(target)
    return target


def finish(gone: Path) -> int:
    """Delete what was set aside, and the folder of such things once it is empty; as `remove_tree`."""
    removed = remove_tree(gone)
    with suppress(OSError):
        gone.parent.rmdir()
    return removed


def waiting(parent: Path) -> list[Path]:
    """Name what was set aside in a folder and is still there, after a crash for instance."""
    place = parent / ASIDE
    return [] if place.is_symlink() or not place.is_dir() else sorted(place.iterdir())


def remove_tree(path: Path) -> int:
    """Remove a folder with all that is in it, or a file, or a link itself; what is gone already is well.

    Returns:
        How many entries were removed.

    Raises:
        OSError: something in it stays; the first reason. What could be removed is removed all the same.
    """
    try:
        parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0
    try:
        return _Removal(parent, path.name).run()
    finally:
        os.close(parent)


@dataclass(frozen=True, slots=True)
class _Removal:
    """One folder's removal. Folders inside are moved up to the top one, so no depth is ever walked."""

    parent: int
    name: str

    def run(self) -> int:
        try:
            top = open_folder(self.parent, self.name)
        except FileNotFoundError:
            return 0
        except NotADirectoryError:
            return _unlinked(self.parent, self.name)
        try:
            removed, fault = self._emptied(top)
        finally:
            os.close(top)
        if fault is None:
            with suppress(FileNotFoundError):
                os.rmdir(self.name, dir_fd=self.parent)
            return removed + 1
        raise fault

    def _emptied(self, top: int) -> tuple[int, OSError | None]:
        removed, fault = 0, None
        for _ in range(_TURNS):
            count, fault = _one_look(top)
            removed += count
            if fault is None and not _names(top):
                return removed, None
            if fault is not None and not count:
                return removed, fault
        return removed, fault or OSError(errno.ENOTEMPTY, "somebody goes on making files in it", self.name)


def _one_look(top: int) -> tuple[int, OSError | None]:
    """Empty the top folder of what is in it now.

    Returns:
        How many entries were removed, and the first reason why one stays.
    """
    removed, faults, names = 0, list[OSError](), _names(top)
    while names:
        try:
            count, risen = _entry(top, names.pop())
        except OSError as exc:
            faults.append(exc)
        else:
            removed += count
            names += risen
    return removed, faults[0] if faults else None


def _entry(top: int, name: str) -> tuple[int, list[str]]:
    """Remove one entry of the top folder; a folder's own folders are moved up beside it, and named."""
    try:
        folder = open_folder(top, name)
    except FileNotFoundError:
        return 0, []
    except NotADirectoryError:
        return _unlinked(top, name), []
    try:
        if os.fstat(folder).st_dev != os.fstat(top).st_dev:
            raise OSError(errno.EXDEV, "another file system is mounted here", name)
        removed, risen = _hollowed(folder, top)
    finally:
        os.close(folder)
    try:
        os.rmdir(name, dir_fd=top)
    except FileNotFoundError:
        return removed, risen
    except OSError as exc:
        if exc.errno not in _RESTLESS:
            raise
        return removed, risen  # somebody makes files in it: the next look finds them
    return removed + 1, risen


def _hollowed(folder: int, top: int) -> tuple[int, list[str]]:
    """Remove a folder's files, and move its folders up to the top one.

    Moving a folder changes its `..`, so it must be open for writing.
    """
    removed, risen = 0, []
    for name in _names(folder):
        if not _is_folder(folder, name):
            removed += _unlinked(folder, name)
            continue
        with suppress(FileNotFoundError):
            os.close(open_folder(folder, name))
            new = f".{secrets.token_hex(12)}"
            os.rename(name, new, src_dir_fd=folder, dst_dir_fd=top)
            risen.append(new)
    return removed, risen


def _unlinked(folder: int, name: str) -> int:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return 0
    return 1


def _is_folder(folder: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def sizes(path: Path) -> tuple[int, int]:
    """Count what a folder takes on the disk, without following a link or walking into another file system.

    Returns:
        Bytes and entries; what vanishes meanwhile or is closed to us is not counted.
    """
    total, entries = 0, 0
    for status in _statuses(path):
        total += status.st_blocks * 512  # st_blocks is in units of 512 bytes. Source: stat(3type)
        entries += 1
    return total, entries


def _statuses(path: Path) -> Iterator[os.stat_result]:
    try:
        first = path.lstat()
    except OSError:
        return
    yield first
    folders = [os.fspath(path)] if stat.S_ISDIR(first.st_mode) else []
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    yield status
                    if stat.S_ISDIR(status.st_mode) and status.st_dev == first.st_dev:
                        folders.append(entry.path)
