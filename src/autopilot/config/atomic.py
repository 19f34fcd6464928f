"""Puts a whole file in place or leaves the old one, and makes folders and trees that a power cut leaves.

A reader never sees half a file. Must not be used for files that grow (see `journal`). Stdlib only.
Source: docs/decisions/0084 (what survives a power cut, and what was lost before).
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
import tempfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PRIVATE_MODE = 0o600
_PRIVATE_FOLDER_MODE = 0o700
_WITHOUT_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


def write_atomically(path: Path, data: bytes, *, mode: int = _PRIVATE_MODE) -> None:
    """Write a temporary file beside `path`, flush it to the disk, rename it, flush the folder.

    Args:
        path: the file to make or replace; its folder must exist.
        data: the whole content.
        mode: permissions of the new file.

    Raises:
        OSError: the file could not be written; `path` is as it was and no temporary file is left.

    Source: rename(2); fsync(2) on the folder makes the new name survive a power cut.
    """
    with _part(path, data, mode) as name:
        os.replace(name, path)  # noqa: PTH105 - `name` is text and may lead to any folder
    sync_folder(path.parent)


def write_new(path: Path, data: bytes, *, mode: int = _PRIVATE_MODE) -> None:
    """Do the same for a file that must not be there yet: nobody's is replaced, not even a moment's.

    Raises:
        FileExistsError: something of that name is there, and stays as it is.
        OSError: the file could not be written; nothing is left.

    Source: link(2) never replaces a name. A file system without links (FAT) says EPERM or ENOTSUP: there the
    name is taken by an empty file first, which a power cut may leave.
    """
    with _part(path, data, mode) as name:
        _give_new_name(name, path, mode)
    sync_folder(path.parent)


@contextmanager
def _part(path: Path, data: bytes, mode: int) -> Iterator[str]:
    """Write a whole temporary file beside `path`, flushed; what is left of it afterwards is removed."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            flush(file.fileno())
        yield name
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)  # noqa: PTH108 - `name` is text and may lead to any folder


def _give_new_name(name: str, path: Path, mode: int) -> None:
    try:
        os.link(name, path)
    except FileExistsError:
        raise
    except OSError as exc:
        if exc.errno not in _WITHOUT_LINKS:
            raise
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode))
        os.replace(name, path)  # noqa: PTH105 - as above


def sync_folder(folder: Path) -> None:
    """Flush a folder's list of names to the disk.

    Raises:
        OSError: the folder cannot be opened or flushed.
    """
    _flush_at(folder, os.O_DIRECTORY)


def make_folder(folder: Path, *, mode: int = _PRIVATE_FOLDER_MODE) -> None:
    """Make a folder, and those above it, where they are missing; each new name is flushed to the disk.

    Raises:
        OSError: it cannot be made.
    """
    missing = []
    for each in (folder, *folder.parents):
        if each.is_dir():
            break
        missing.append(each)
    for each in reversed(missing):
        each.mkdir(mode=mode, exist_ok=True)
        sync_folder(each.parent)


def sync_tree(folder: Path) -> None:
    """Flush every file and folder below a folder of ours, and the folder's own list of names.

    Raises:
        OSError: something could not be read or flushed.
    """

    def refuse(error: OSError) -> None:
        raise error

    for place, _, files in os.walk(folder, topdown=False, onerror=refuse):
        for name in files:
            path = os.path.join(place, name)  # noqa: PTH118 - os.walk gives text
            if stat.S_ISREG(os.lstat(path).st_mode):
                _flush_at(path, os.O_NOFOLLOW)
        _flush_at(place, os.O_DIRECTORY)


def sync_folders(folder: Path) -> None:
    """Flush the lists of names of a folder and all below it; contents are flushed by who writes them.

    Raises:
        OSError: a folder could not be read or flushed.
    """

    def refuse(error: OSError) -> None:
        raise error

    for place, _, _ in os.walk(folder, topdown=False, onerror=refuse):
        _flush_at(place, os.O_DIRECTORY)


def flush(handle: int) -> None:
    """Flush one open file to the disk itself.

    Raises:
        OSError: it could not be flushed.

    Source: fcntl(2) of macOS, F_FULLFSYNC: there, fsync stops at the drive's cache.
    """
    if sys.platform == "darwin":
        try:
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
        except OSError:
            pass  # a file system that does not know it; the weaker promise is better than none
        else:
            return
    os.fsync(handle)


def _flush_at(path: Path | str, kind: int) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | kind)
    try:
        flush(handle)
    finally:
        os.close(handle)
