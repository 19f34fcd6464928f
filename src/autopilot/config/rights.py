"""Opens folders that somebody else may have closed to us, by handle and never by following a name.

Must not follow a link, and must not change what belongs to another user.
Source: openat(2), open(2) O_PATH; docs/decisions/0024.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

OURS = 0o700
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_folder(folder: int, name: str) -> int:
    """Open a folder below an open one and make it ours to read and empty; a link is refused as no folder.

    Raises:
        NotADirectoryError: it is a link, or no folder.
        OSError: it is not there, or closed to us by another user.
    """
    try:
        opened = os.open(name, _FOLDER, dir_fd=folder)
    except PermissionError:
        _open_up(folder, name)
        opened = os.open(name, _FOLDER, dir_fd=folder)
    except OSError as exc:
        if exc.errno == errno.ELOOP:  # what O_NOFOLLOW says of a link where O_DIRECTORY does not speak first
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name) from exc
        raise
    status = os.fstat(opened)
    if status.st_mode & OURS != OURS and status.st_uid == os.geteuid():
        with suppress(PermissionError):
            os.fchmod(opened, stat.S_IMODE(status.st_mode) | OURS)
    return opened


def open_below(top: Path, *names: str) -> int:
    """Open a folder of ours, then each folder below it by its name.

    Raises:
        OSError: one of them is no folder, or not there.
    """
    opened = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in names:
        above = opened
        try:
            opened = open_folder(above, name)
        finally:
            os.close(above)
    return opened


def give_back(*folders: Path) -> None:
    """Give ourselves the rights on folders that somebody else could close; what is no folder is left alone.

    Raises:
        OSError: one belongs to another user and is closed to us.
    """
    for folder in folders:
        with suppress(FileNotFoundError, NotADirectoryError):
            os.close(open_below(folder.parent, folder.name))


def _open_up(folder: int, name: str) -> None:
    """Give ourselves the right to read a folder, through a handle and never by its name.

    Source: open(2), O_PATH: a handle on something that may not be read; chmod goes through /proc, for
    fchmod(2) refuses such a handle. Where chmod itself can leave links alone, as on macOS, none is needed.
    """
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, OURS, dir_fd=folder, follow_symlinks=False)
        return
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.chmod(f"/proc/self/fd/{handle}", OURS)  # noqa: PTH101 - a handle, no path of ours
    finally:
        os.close(handle)
