"""Locks: our own, which the kernel frees when we die, and git's, which stay behind when git is killed.

Must not remove a lock of git's that is young or that a living process has open.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.procinfo import all_pids
from autopilot.runner.failure import RunFailure
from autopilot.schemas.run import Outcome
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from autopilot.config.clock import Clock

STALE_AFTER_S = 60
_IS_LINUX = sys.platform == "linux"
_POLL_S = 0.05
_PRIVATE_MODE = 0o600


@contextmanager
def held(path: Path, *, timeout_s: float, clock: Clock) -> Iterator[None]:
    """Hold a lock file of ours, waiting for whoever holds it now.

    Args:
        path: the file; it is made when missing, and stays.
        timeout_s: seconds to wait.
        clock: measures them.

    Raises:
        RunFailure: somebody else held it all that time; infrastructure.

    Source: flock(2): the lock ends with the process, however that ends.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE_MODE)
    try:
        _wait_for(handle, path, until_s=clock.monotonic_s() + timeout_s, clock=clock)
        yield
    finally:
        os.close(handle)


def clear_stale_locks(
    paths: Iterable[Path], clock: Clock, *, stale_after_s: float = STALE_AFTER_S, wait_s: float = 0.0
) -> list[Path]:
    """Remove git's lock files that a killed git left behind.

    Args:
        paths: where locks may be, as `git rev-parse --git-path` gives them; most are not there.
        clock: tells the time that a file's age is measured against.
        stale_after_s: how old a lock must be, in seconds.
        wait_s: how long to wait for a lock to go or to become that old.

    Returns:
        What was removed.

    Raises:
        RunFailure: a lock is young or held; it was left alone and the run is to be tried later.
    """
    until_s, pause = clock.monotonic_s() + wait_s, threading.Event()
    removed = []
    for path in paths:
        while who := _owner(path, clock, stale_after_s):
            if clock.monotonic_s() >= until_s:
                what = f"{path} belongs to {who}"
                raise RunFailure(Outcome.INFRASTRUCTURE, "lock-held", what, hint="it is tried again later")
            pause.wait(_POLL_S)
        if path.is_file():
            path.unlink(missing_ok=True)
            removed.append(path)
    return removed


def _owner(path: Path, clock: Clock, stale_after_s: float) -> str:
    """Say to whom a lock belongs; nothing when it is not there, or old and nobody's."""
    try:
        age_s = clock.now_ms() / MS_PER_S - path.lstat().st_mtime
        pids = holders(path) if age_s >= stale_after_s else []
    except (FileNotFoundError, NotADirectoryError):
        return ""
    if age_s < stale_after_s:
        return "a process that works now"
    return f"process {pids[0]}" if pids else ""


def _wait_for(handle: int, path: Path, *, until_s: float, clock: Clock) -> None:
    pause = threading.Event()
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            if exc.errno not in {errno.EWOULDBLOCK, errno.EINTR}:
                raise
        else:
            return
        if clock.monotonic_s() >= until_s:
            what = f"another run has held {path.name} all the time"
            raise RunFailure(Outcome.INFRASTRUCTURE, "mirror-busy", what, hint="it is tried again later")
        pause.wait(_POLL_S)


def holders(path: Path) -> list[int]:
    """Name the processes that have a file open, as far as this user can see. Source: proc(5)."""
    wanted = path.stat()
    if _IS_LINUX:
        return [pid for pid in all_pids() if _has_open(pid, (wanted.st_dev, wanted.st_ino))]
    return _holders_by_psutil(path)


def _has_open(pid: int, wanted: tuple[int, int]) -> bool:
    try:
        entries = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False
    for entry in entries:
        try:
            seen = entry.stat()
        except OSError:
            continue
        if (seen.st_dev, seen.st_ino) == wanted:
            return True
    return False


def _holders_by_psutil(path: Path) -> list[int]:
    import psutil  # noqa: PLC0415 - only where there is no /proc

    found = []
    for process in psutil.process_iter():
        try:
            if any(Path(file.path).samefile(path) for file in process.open_files()):
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue
    return found
