"""One daemon per state folder: kernel locks that no crash can leave behind.

Must not judge by a pid: the locks are the truth, what stands in the file is only told to a person. Two are
held: of the folder, which nobody removes while it holds a queue, and of the file, which older versions know.
Source: flock(2): a lock goes when its last descriptor is closed, also by SIGKILL; it stays with a file that
was removed, so that the next one could lock a new file of that name.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from autopilot.config import procinfo
from autopilot.config.room import unusable
from autopilot.schemas.errors import ConfigError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.config.procinfo import ProcessId

_MAX_BYTES = 128
_SHOWN_CHARS = 40
_MODE = 0o600


class DaemonLock:
    """The lock as it is held."""

    def __init__(self, path: Path, fd: int) -> None:
        """Take the file and its descriptor."""
        self.left = ""
        """Why who signed the file before is no owner; empty for a new file."""
        self._path = path
        self._fd = fd

    def heal(self) -> bool:
        """Put the file back where it was removed or replaced; say whether that was needed.

        Raises:
            AutopilotError: it cannot be put back.
        """
        if self._is_in_place():
            return False
        fd = _open(self._path)
        try:
            _take(fd, self._path)
        except BaseException:
            os.close(fd)
            raise
        self.let_go()
        self._fd = fd
        _sign(fd)
        return True

    def _is_in_place(self) -> bool:
        """Look; what stands there instead is removed, for the folder's lock says that the name is ours."""
        try:
            if os.path.samestat(self._path.lstat(), os.fstat(self._fd)):
                return True
            self._path.unlink()
        except FileNotFoundError:
            return False
        except OSError as exc:
            what = f"something lies at {self._path} in place of our file: {exc.strerror}"
            raise unusable("lock-unusable", what, exc, hint="move it away") from exc
        return False

    def let_go(self) -> None:
        """Close the file."""
        os.close(self._fd)


@contextmanager
def daemon_lock(path: Path) -> Iterator[DaemonLock]:
    """Hold the lock inside the block.

    Raises:
        RefusedError: another daemon holds it.
        ConfigError: the file cannot be used.
    """
    with ExitStack() as undo:
        folder = _open_folder(path)
        undo.callback(os.close, folder)
        _take(folder, path)
        is_new = not os.path.lexists(path)
        fd = _open(path)
        held = DaemonLock(path, fd)
        undo.callback(held.let_go)
        _take(fd, path)
        held.left = "" if is_new else _why_no_owner(_text(fd))
        _sign(fd)
        yield held


def owner(path: Path) -> ProcessId | None:
    """Give the living process that signed the file, by number, start and boot; None where there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        pid, started_ms, boot = (*_text(fd).split(" "), "", "", "")[:3]
    finally:
        os.close(fd)
    here = procinfo.boot_id()
    if not (pid.isdecimal() and started_ms.isdecimal()) or (here and boot not in {"-", here}):
        return None
    signed = procinfo.ProcessId(int(pid), int(started_ms))
    return signed if procinfo.is_alive(signed) else None


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, _MODE)
    except OSError as exc:
        what = f"cannot open {path}: {exc.strerror}"
        raise unusable("lock-unusable", what, exc, hint="make the folder writable") from exc


def _open_folder(path: Path) -> int:
    try:
        return os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as exc:
        what = f"cannot open {path.parent}: {exc.strerror}"
        raise unusable("lock-unusable", what, exc, hint="make the folder readable") from exc


def _take(fd: int, path: Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as exc:
        pid = _signed_pid(path)
        raise RefusedError(
            "daemon-running",
            f"a daemon already runs here (pid {pid or 'not known yet'}, {path.parent})",
            hint="use it, or stop it first: autopilot daemon stop",
        ) from exc
    except OSError as exc:
        raise ConfigError(
            "lock-unsupported",
            f"the file system of {path} knows no locks: {exc.strerror}",
            hint="set AUTOPILOT_HOME to a folder on a local disk",
        ) from exc


def _sign(fd: int) -> None:
    """Write down who we are: number, start and boot."""
    ourselves = procinfo.look(os.getpid())
    started_ms = ourselves.id.started_ms if ourselves else 0
    with suppress(OSError):  # a full disk: the lock is held, and this is only told to a person
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()} {started_ms} {procinfo.boot_id() or '-'}\n".encode(), 0)


def _signed_pid(path: Path) -> int:
    """Give the number that the file names, or 0."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return 0
    try:
        word = _text(fd).partition(" ")[0]
    finally:
        os.close(fd)
    return int(word) if word.isdecimal() else 0


def _text(fd: int) -> str:
    try:
        return os.pread(fd, _MAX_BYTES, 0).decode("ascii", "replace").strip()
    except OSError:
        return ""


def _why_no_owner(text: str) -> str:
    """Say why who signed the file does not own it: we hold its lock, so nobody does."""
    if not text:
        return "it names nobody"
    pid, _, rest = text.partition(" ")
    started_ms, _, boot = rest.partition(" ")
    if not (pid.isdecimal() and (started_ms.isdecimal() or not rest)):
        return f"what it says cannot be read: {text[:_SHOWN_CHARS]!r}"
    here = procinfo.boot_id()
    if here and boot not in {"", "-", here}:
        return f"process {pid} was one of an earlier boot"
    seen = procinfo.look(int(pid)) if len(pid) < len(str(2**31)) else None
    if seen is None or seen.is_zombie:
        return f"process {pid} is gone"
    if started_ms and seen.id.started_ms != int(started_ms):
        return f"process {pid} is another one by now"
    return f"process {pid} lives, but does not hold the lock"
