"""Whether what a command or git wrote may have been cut short because its disk was full.

Must not go by what a program printed: the file system is asked, and a small file of ours is written.
Source: docs/decisions/0182.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config.capture import least_free_bytes
from autopilot.config.gitfault import GitError
from autopilot.config.room import is_full
from autopilot.schemas.errors import TransientError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from autopilot.schemas.errors import AutopilotError

DISK_FULL = "disk-full"
FULL_CODES = frozenset({DISK_FULL, "git-disk-full"})
"""Codes of an error that room on the disk would mend."""
_FULL, _HINT = "the disk is full", "free disk space"
_TRIAL = bytes(64 * 1024)


@dataclass(frozen=True, slots=True)
class Shortage:
    """A folder on a file system without room, as it was seen; `refusal` is what a write of ours was told."""

    folder: Path
    free_bytes: int
    least_bytes: int
    has_entries: bool = True
    refusal: str = ""

    def __str__(self) -> str:
        """Say it with the figures."""
        if self.refusal:
            return f"{self.folder} took no file: {self.refusal} ({self.free_bytes} bytes free)"
        if not self.has_entries:
            return f"{self.folder} has no entry free for a new file"
        return f"{self.folder} has {self.free_bytes} bytes free, less than {self.least_bytes}"

    def error(self, after: str) -> TransientError:
        """Build the error of what came to nothing, or may have, because of it."""
        return TransientError(DISK_FULL, f"{_FULL}: {self}; {after}", hint=_HINT)


def shortage(folders: Iterable[Path]) -> Shortage | None:
    """Find the first folder that lies on a file system below the bar, or without an entry for a new file.

    The bar is that of the logs: below it we ourselves keep nothing whole of what a command prints.
    """
    for folder in folders:
        try:
            disk = os.statvfs(folder)
        except OSError:
            continue
        free_bytes, least_bytes = disk.f_bavail * disk.f_frsize, least_free_bytes(disk)
        if free_bytes < least_bytes:
            return Shortage(folder, free_bytes, least_bytes)
        if disk.f_files and not disk.f_favail:  # some file systems do not count them
            return Shortage(folder, free_bytes, least_bytes, has_entries=False)
    return None


def refused(folder: Path, write: Callable[[Path], None] | None = None) -> Shortage | None:
    """Find out by a small file whether a folder of ours takes one: a quota shows in no file system's figures.

    Args:
        folder: of ours alone.
        write: how it is tried; else by a file without a name.
    """
    try:
        (write or _write)(folder)
    except OSError as exc:
        if not is_full(exc):
            return None
        disk = os.statvfs(folder)
        free_bytes = disk.f_bavail * disk.f_frsize
        return Shortage(folder, free_bytes, least_free_bytes(disk), refusal=exc.strerror or str(exc))
    return None


def full(error: OSError, folder: Path) -> TransientError | None:
    """Build the error of a write that found no room, with the figures while there is none; else None."""
    if not is_full(error):
        return None
    short = shortage((folder,))
    return short.error(str(error)) if short else TransientError(DISK_FULL, f"{_FULL}: {error}", hint=_HINT)


def refuse_full(error: AutopilotError, folder: Path) -> None:
    """Take no word of git's against a commit where it had no room, or a part of ours that had none.

    Args:
        error: what went wrong.
        folder: where it was to write.

    Raises:
        TransientError: `disk-full`.
    """
    if error.code in FULL_CODES:
        raise TransientError(DISK_FULL, error.what, hint=_HINT) from error
    short = shortage((folder,)) if isinstance(error, GitError) else None
    if short is not None:
        raise short.error(error.what) from error


def _write(folder: Path) -> None:
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(_TRIAL)
        file.flush()
        os.fsync(file.fileno())  # where room is found only now, as over a network
