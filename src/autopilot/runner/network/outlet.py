"""The only way out of a sandbox: a proxy on a unix socket in the run's folder, which knows a list of hosts.

Must not end or delay the run, whatever is sent to it: a visit that goes wrong is over, and that is all.
Source: ADR 0120.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from autopilot.config.address import short_address
from autopilot.config.threads import start
from autopilot.runner.network.carried import Carried
from autopilot.runner.network.ends import Ends
from autopilot.runner.network.line import Operator
from autopilot.runner.network.refused import Refusals
from autopilot.schemas.errors import TransientError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from autopilot.runner.network.broker import Broker
    from autopilot.runner.network.policy import Policy

MAX_VISITS = 64
IDLE_S = 900.0
_BACKLOG = 64
_PRIVATE = 0o600
_LEAVE_S, _PAUSE_S = 5.0, 0.1
_FULL = b"HTTP/1.1 503 Too many connections\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Gate:
    """What an outlet lets through, and how it gets out itself."""

    policy: Policy
    operator: Operator = field(default_factory=Operator)
    broker: Broker | None = None


class Outlet:
    """A context manager: inside the block it listens; behind it every connection is cut."""

    def __init__(
        self, path: Path, gate: Gate, *, idle_s: float = IDLE_S, max_visits: int = MAX_VISITS
    ) -> None:
        """Say where it listens and what may pass; nothing is opened yet."""
        self.socket = path
        self.refusals, self.carried = Refusals(), Carried()
        self._gate, self._idle_s = gate, idle_s
        self._room = threading.BoundedSemaphore(max_visits)
        self._ends = Ends()
        self._visits: set[threading.Thread] = set()
        self._is_empty = threading.Condition()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._bell, self._rope = socket.socketpair()

    def __enter__(self) -> Self:
        """Begin to listen.

        Raises:
            OSError: the socket cannot be made.
            ConfigError: no name for it is short enough.
            TransientError: the machine gives us no thread.
        """
        try:
            self.socket.unlink(missing_ok=True)
            with short_address(self.socket) as address:
                self._listener.bind(address)
            self.socket.chmod(_PRIVATE)
            self._listener.listen(_BACKLOG)
            self._listener.setblocking(False)  # noqa: FBT003 - the standard library's own signature
            start(self._among(threading.Thread(target=self._welcome, daemon=True)))
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cut every connection, and wait a moment for whoever served them."""
        self._rope.close()
        self._ends.hang_up()
        with self._is_empty:
            self._is_empty.wait_for(lambda: not self._visits, _LEAVE_S)
        self._close()

    def _close(self) -> None:
        for end in (self._listener, self._bell, self._rope):
            end.close()
        self.socket.unlink(missing_ok=True)

    def _among(self, thread: threading.Thread) -> threading.Thread:
        with self._is_empty:
            self._visits.add(thread)
        return thread

    def _gone(self, thread: threading.Thread) -> None:
        with self._is_empty:
            self._visits.discard(thread)
            self._is_empty.notify_all()

    def _welcome(self) -> None:
        """Take connections in, each into a thread of its own, as long as there is room."""
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._bell, selectors.EVENT_READ)
                selector.register(self._listener, selectors.EVENT_READ)
                while not any(key.fileobj is self._bell for key, _ in selector.select()):
                    self._take_in()
        finally:
            self._gone(threading.current_thread())

    def _take_in(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:  # it has left again, or there are no more descriptors: some will be free again
            threading.Event().wait(_PAUSE_S)
            return
        client.setblocking(True)  # noqa: FBT003 - as above
        if not self._room.acquire(blocking=False):
            _say(client, _FULL)
            return
        visit = self._among(threading.Thread(target=self._serve, args=(client,), daemon=True))
        try:
            start(visit)
        except TransientError:
            _say(client, _FULL)
            self._room.release()
            self._gone(visit)

    def _serve(self, client: socket.socket) -> None:
        gate = self._gate
        try:
            # One end broke off: the other is let go.
            with self._ends.kept(client), contextlib.suppress(OSError):
                from autopilot.runner.network.visit import Visit  # noqa: PLC0415 - many a command needs no HTTP

                Visit(
                    client,
                    gate.policy,
                    gate.operator,
                    self.refusals,
                    self._ends,
                    self._idle_s,
                    gate.broker,
                    self.carried,
                ).serve()
        finally:
            self._room.release()
            self._gone(threading.current_thread())


def _say(client: socket.socket, answer: bytes) -> None:
    with client, contextlib.suppress(OSError):
        client.settimeout(_PAUSE_S)
        client.sendall(answer)
