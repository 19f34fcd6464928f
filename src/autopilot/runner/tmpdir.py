"""A short name for a run's temporary folder: a socket's address holds 108 bytes, and our folders lie deep.

The name is a link, in a folder that is this user's alone. Must not hold anything itself.
Source: unix(7); docs/decisions/0161.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TEMPORARY = Path("/tmp")  # noqa: S108 - in it a folder of our own
_DIGITS = 8
_PRIVATE = 0o700


def short_name(folder: Path, *, below: Path = _TEMPORARY) -> Path:
    """Give a folder a short name; its own, where that is short already or none can be made.

    What was left of runs whose folder is gone is taken away.
    """
    place = below / f"ap-{os.geteuid()}"
    name = place / hashlib.sha256(os.fsencode(folder)).hexdigest()[:_DIGITS]
    if sys.platform != "linux" or len(os.fsencode(folder)) <= len(os.fsencode(name)):
        return folder
    with suppress(OSError):
        place.mkdir(mode=_PRIVATE, exist_ok=True)
        if _is_ours_alone(place):
            _sweep(place)
            with suppress(FileExistsError):
                name.symlink_to(folder, target_is_directory=True)
            return name if name.readlink() == folder else folder
    return folder


def forget(name: Path, folder: Path) -> None:
    """Take the name away, unless it is the folder's own."""
    if name != folder:
        with suppress(OSError):
            name.unlink()
        with suppress(OSError):
            name.parent.rmdir()


def _is_ours_alone(place: Path) -> bool:
    """Tell it from a folder, or a link, that another user of the machine has put there."""
    status = place.lstat()
    is_private = not stat.S_IMODE(status.st_mode) & ~_PRIVATE
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and is_private


def _sweep(place: Path) -> None:
    for name in _dangling(place):
        name.unlink(missing_ok=True)


def _dangling(place: Path) -> Iterator[Path]:
    yield from (each for each in place.iterdir() if each.is_symlink() and not each.exists())
