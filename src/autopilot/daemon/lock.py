"""One daemon per state folder: a kernel lock that no crash can leave behind.

Must not judge by a pid alone: the flock is the truth, the pid in the file is only told to a person.
Source: flock(2): the lock goes when its last descriptor is closed, also by SIGKILL.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from autopilot.config.room import unusable
from autopilot.schemas.errors import ConfigError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAX_PID_BYTES = 32


@contextmanager
def daemon_lock(path: Path) -> Iterator[None]:
    """Hold the lock inside the block.

    Raises:
        RefusedError: another daemon holds it.
        ConfigError: the file cannot be used.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as exc:
        what = f"cannot open {path}: {exc.strerror}"
        raise unusable("lock-unusable", what, exc, hint="make the folder writable") from exc
    try:
        _take(fd, path)
        with suppress(OSError):  # a full disk: the lock is held, and the pid is only told to a person
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(fd)


def _take(fd: int, path: Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as exc:
        pid = _signed_pid(fd)
        raise RefusedError(
            "daemon-running",
            f"a daemon already runs here (pid {pid or 'not known yet'}, {path.parent})",
            hint=f"use it, or stop it with: kill {pid}" if pid else "use it",
        ) from exc
    except OSError as exc:
        raise ConfigError(
            "lock-unsupported",
            f"the file system of {path} knows no locks: {exc.strerror}",
            hint="set AUTOPILOT_HOME to a folder on a local disk",
        ) from exc


def _signed_pid(fd: int) -> int:
    text = os.pread(fd, _MAX_PID_BYTES, 0).strip()
    return int(text) if text.isdigit() else 0
