"""Opens and reads files that somebody else may have put there.

Must not follow a link, wait on a pipe, or read without a bound.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


_PIECE_BYTES = 64 * 1024
SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""What we lack ourselves when something cannot be opened: it says nothing of what was looked at."""


class UnreadableError(Exception):
    """A file is absent or is not what it should be; the text says what."""

    @property
    def is_our_want(self) -> bool:
        """Whether it says nothing about the file: we have no descriptor or memory to read it with."""
        return isinstance(self.__cause__, OSError) and self.__cause__.errno in SHORTAGES


def open_plain(path: Path) -> int:
    """Open a plain file; a link, pipe, socket or device is refused without waiting.

    Raises:
        UnreadableError: it is absent, no plain file, or closed to us.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as exc:
        raise UnreadableError("it was not written") from exc
    except OSError as exc:
        raise UnreadableError(f"it cannot be opened: {exc.strerror}") from exc
    try:
        is_plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
    except OSError as exc:
        os.close(descriptor)
        raise UnreadableError(f"it cannot be looked at: {exc.strerror}") from exc
    if not is_plain:
        os.close(descriptor)
        raise UnreadableError("it is no plain file")
    return descriptor


def matching(root: Path, pattern: str) -> list[Path]:
    """List what matches a pattern below a folder that somebody else fills.

    Raises:
        UnreadableError: it cannot be looked for: a link names what no file can be called, or folders lie too
            deep.
        ValueError: the pattern is none.
    """
    try:
        return list(root.glob(pattern))
    except OSError as exc:
        raise UnreadableError(f"what matches {pattern!r} cannot be looked for: {exc.strerror}") from exc
    except RecursionError as exc:
        raise UnreadableError(f"what matches {pattern!r} cannot be looked for: too many folders") from exc


def read_plain(path: Path, *, max_bytes: int) -> bytes:
    """Read a whole plain file.

    Raises:
        UnreadableError: it is absent, no plain file, larger than `max_bytes`, or its bytes cannot be had.
    """
    descriptor = open_plain(path)
    with os.fdopen(descriptor, "rb") as file:
        try:
            # Asked for more, Python takes that much memory first: 64 MiB for a result of two lines.
            content = bytearray(file.read(min(os.fstat(descriptor).st_size, max_bytes) + 1))
            while len(content) <= max_bytes and (more := file.read(1)):  # it has no size, or grows
                content += more + file.read(min(_PIECE_BYTES, max_bytes - len(content)))
        except OSError as exc:
            raise UnreadableError(f"it cannot be read: {exc.strerror}") from exc
    if len(content) > max_bytes:
        raise UnreadableError(f"it is larger than {max_bytes} bytes")
    return bytes(content)
