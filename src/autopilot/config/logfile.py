"""A log file of bounded size that several processes write to at once.

Must not stop the work: a line that cannot be written is lost, and that is told once.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from typing import TYPE_CHECKING

from autopilot.config.journal import is_torn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_PRIVATE_FILE_MODE = 0o600
_PRIVATE_DIR_MODE = 0o700


class LogFile:
    """Lines go in whole, by one append each; the file is turned over by whoever finds it full."""

    def __init__(
        self, path: Path, *, size_bytes: int, keep_files: int, complain: Callable[[str], None]
    ) -> None:
        """Open it.

        Args:
            path: the file; older ones lie beside it as `.1`, `.2` and so on.
            size_bytes: from which size on the next is begun.
            keep_files: how many older ones are kept.
            complain: told once when lines are lost.

        Raises:
            OSError: it cannot be opened.
        """
        self._path = path
        self._size_bytes = size_bytes
        self._keep_files = keep_files
        self._complain: Callable[[str], None] | None = complain
        self._lock = threading.Lock()
        self._fd = self._open()
        self._is_torn = is_torn(self._fd)  # a killed process's last words

    def write(self, line: str) -> None:
        """Append a line."""
        data = f"{line}\n".encode("utf-8", "backslashreplace")
        with self._lock:
            try:
                self._make_room(len(data))
                self._append(data)
            except OSError as exc:
                if self._complain is not None:
                    self._complain(f"log lines are lost: {exc}")
                    self._complain = None

    def close(self) -> None:
        """Close it; lines after that are lost."""
        with self._lock:
            os.close(self._fd)
            self._complain = None
            self._fd = -1

    def _append(self, data: bytes) -> None:
        """Write a line; behind half a line, which a full disk or a kill has left, begin a new one."""
        if self._is_torn:
            os.write(self._fd, b"\n")
        self._is_torn = False
        written = os.write(self._fd, data)
        if written < len(data):
            self._is_torn = True
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _open(self) -> int:
        self._path.parent.mkdir(mode=_PRIVATE_DIR_MODE, exist_ok=True)  # somebody may have tidied it away
        return os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, _PRIVATE_FILE_MODE)

    def _make_room(self, more_bytes: int) -> None:
        """Follow a file that another process has turned over; turn it over when it is full."""
        if self._was_moved():
            self._reopen()
        if self._is_full(more_bytes):
            fcntl.flock(self._fd, fcntl.LOCK_EX)  # of the file that is full: nobody can hold two
            if not self._was_moved():
                self._turn_over()
            self._reopen()

    def _is_full(self, more_bytes: int) -> bool:
        size_bytes = os.fstat(self._fd).st_size
        return size_bytes > 0 and size_bytes + more_bytes > self._size_bytes

    def _was_moved(self) -> bool:
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return True
        ours = os.fstat(self._fd)
        return (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino)

    def _reopen(self) -> None:
        """Closing the old one also lets go of its lock."""
        fresh = self._open()
        os.close(self._fd)
        self._fd = fresh

    def _turn_over(self) -> None:
        for number in range(self._keep_files - 1, 0, -1):
            older = self._numbered(number)
            if older.exists():
                older.replace(self._numbered(number + 1))
        self._path.replace(self._numbered(1))

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")
