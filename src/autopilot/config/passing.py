"""A look at a file that another process may take away at any moment.

Between asking whether it is there and looking at it lies a gap: here is one question. Must not follow what is
no longer there with an error, nor hide any other one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from pathlib import Path


def status_of(path: Path) -> os.stat_result | None:
    """Give what the file system says of a path; None where nothing is there, or no more.

    Raises:
        OSError: it may not be asked, or cannot answer.
    """
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def size_of(path: Path) -> int:
    """Give the size in bytes; 0 where nothing is there, or no more.

    Raises:
        OSError: as `status_of`.
    """
    status = status_of(path)
    return status.st_size if status is not None else 0
