"""The control socket: where the daemon listens, and that it goes on listening there.

Must not know what a call means. Only the daemon that holds the daemon lock may start one: it replaces a
socket file that an earlier daemon left, or that somebody put in the place of ours.
"""

from __future__ import annotations

import stat
import threading
from typing import TYPE_CHECKING, Any

from autopilot.config.address import short_address
from autopilot.config.threads import start
from autopilot.daemon.api.server import JOIN_TIMEOUT_S, Server
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from autopilot.daemon.api.call import Call

SOCKET_MODE = 0o600


class ControlServer:
    """The control socket with a thread per request; every thread is gone after `stop`."""

    def __init__(
        self,
        socket_path: Path,
        handle: Callable[[Call], Mapping[str, Any]],
        *,
        on_fault: Callable[[BaseException], None],
    ) -> None:
        """Take the socket's path, what answers a call, and who is told of an answer that crashed."""
        self._path = socket_path
        self._handle = handle
        self._on_fault = on_fault
        self._doors: list[_Door] = []

    def start(self) -> None:
        """Bind, replacing a stale socket, and answer from now on.

        Raises:
            ConfigError: something that is no socket lies at the path, or it cannot be bound.
            TransientError: no thread can be started.
        """
        door = _Door(self._path, Server(self._handle, self._on_fault))
        door.open()
        self._doors.append(door)

    def heal(self) -> bool:
        """Listen anew where the socket file was removed or replaced, or nobody takes calls; say if so.

        Calls under way are answered by the socket they came in by.

        Raises:
            AutopilotError: as `start`.
        """
        if self._doors and self._doors[-1].is_open:
            return False
        for door in self._doors:
            door.take_no_more()
        self._doors = [door for door in self._doors if door.is_busy]
        self.start()
        return True

    def stop(self) -> None:
        """Stop listening, end what is still being answered, remove the socket if it is still ours."""
        for door in self._doors:
            door.take_no_more()
            door.close()


class _Door:
    """One bound socket and who takes calls from it."""

    def __init__(self, path: Path, inner: Server) -> None:
        self._path = path
        self._inner = inner
        self._thread = threading.Thread(target=inner.serve, name="control", daemon=True)
        self._file = (0, 0)

    @property
    def is_in_place(self) -> bool:
        """Tell whether who connects to the path comes to us. Our own bound file keeps its number."""
        return _file_of(self._path) == self._file

    @property
    def is_open(self) -> bool:
        """Tell whether who connects to the path comes to us, and is heard."""
        return self._thread.is_alive() and self.is_in_place

    @property
    def is_busy(self) -> bool:
        return self._inner.is_busy

    def open(self) -> None:
        try:
            _remove_stale(self._path)
            with short_address(self._path) as address:
                self._inner.socket.bind(address)
            self._path.chmod(SOCKET_MODE)
            self._file = _file_of(self._path)
            self._inner.server_activate()
            start(self._thread)
        except OSError as exc:
            self._inner.server_close()
            raise ConfigError(
                "socket-unusable",
                f"cannot listen on {self._path}: {exc.strerror}",
                hint="make the folder writable, or set AUTOPILOT_HOME to a local file system",
            ) from exc
        except BaseException:
            self._inner.server_close()
            raise

    def take_no_more(self) -> None:
        if self._thread.is_alive():
            self._inner.wake.close()
            self._thread.join(JOIN_TIMEOUT_S)
        self._inner.server_close()

    def close(self) -> None:
        self._inner.end_connections()
        if self._file != (0, 0) and self.is_in_place:
            self._path.unlink(missing_ok=True)


def _file_of(path: Path) -> tuple[int, int]:
    try:
        seen = path.lstat()
    except OSError:
        return 0, 0
    return seen.st_dev, seen.st_ino


def _remove_stale(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as exc:
        hint = f"let this account into {path.parent}"
        raise ConfigError("socket-unusable", f"cannot look at {path}: {exc.strerror}", hint=hint) from exc
    if not stat.S_ISSOCK(mode):
        raise ConfigError(
            "socket-in-the-way",
            f"{path} is not a socket of ours",
            hint="move it away: the daemon listens under that name",
        )
    path.unlink(missing_ok=True)
