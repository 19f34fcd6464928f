"""Whether a thing in one of our places is ours at all, by what the file system says of it.

Must not read what is written inside: an agent may have written that.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def strange(path: Path) -> str | None:
    """Say why a thing is not ours to remove, whatever is written down; None: nothing speaks against it."""
    try:
        status, around = path.lstat(), path.parent.stat()
    except OSError as exc:
        return f"it cannot be looked at: {exc.strerror}"
    if stat.S_ISLNK(status.st_mode):
        return "it is a link; what it leads to is not looked at"
    if status.st_uid != os.geteuid():
        return "it belongs to another user"
    if not stat.S_ISDIR(status.st_mode):
        return "it is no folder"
    return "another file system is mounted there" if status.st_dev != around.st_dev else None
