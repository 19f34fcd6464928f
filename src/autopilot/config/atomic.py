"""Puts a whole file in place or leaves the old one: a reader never sees half of it.

Must not be used for files that grow (see `journal`). Stdlib only.
"""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_PRIVATE_MODE = 0o600


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
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)  # noqa: PTH105 - `name` is text and may lead to any folder
    except BaseException:
        os.unlink(name)  # noqa: PTH108 - as above
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder's list of names to the disk.

    Raises:
        OSError: the folder cannot be opened or flushed.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
