"""The guard while a run lasts: answers hooks on a unix socket, and remembers what the run wrote.

Fail-closed: a fault, a late or a half question is answered by a refusal. Must not run what it is asked about.
"""

from __future__ import annotations

import socket
import socketserver
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from autopilot.config.address import short_address
from autopilot.config.threads import begin, start
from autopilot.runner.guard.event import is_start, request_of
from autopilot.runner.guard.judge import Guard
from autopilot.runner.guard.verdict import Decision, Refused

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import Any, Self

    from autopilot.config.clock import Clock
    from autopilot.runner.guard.verdict import GuardContext, GuardRequest

DEADLINE_S = 5.0
MAX_EVENT_BYTES = 8 * 1024 * 1024
MAX_ASKERS = 32
"""Questions that arrive at one time; whatever runs in the sandbox can ask."""
CHUNK_BYTES = 65536
MAX_REMEMBERED = 500
MAX_ABOUT_CHARS = 1000
MAX_USES = 200_000
"""Uses of tools that are remembered by name; what comes after them counts as not asked about."""
YES = b"allow\n"
NO = b"block\n"
FAULT = Decision(allowed=False, code="guard-fault", reason="the guard failed, so this is refused")


class Blocked(NamedTuple):
    """A refusal that was given."""

    tool: str
    code: str
    reason: str
    about: str = ""
    """What the tool was to do: its command, file or address."""


class GuardService:
    """The guard on its socket, from entering to leaving.

    Args:
        context: what the run may touch.
        socket_path: where it listens; the folder must be private.
        clock: measures how long an answer took.
        deadline_s: seconds after which the answer is a refusal.
    """

    def __init__(
        self, context: GuardContext, socket_path: Path, *, clock: Clock, deadline_s: float = DEADLINE_S
    ) -> None:
        self.socket = socket_path
        self.deadline_s = deadline_s
        self._guard = Guard(context)
        self._clock = clock
        self._lock = threading.Lock()
        self._written: frozenset[str] = frozenset()
        self._blocked: list[Blocked] = []
        self._asked = 0
        self._allowed: set[str] = set()
        self._turn = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="guard", daemon=True
        )

    def __enter__(self) -> Self:
        with short_address(self.socket) as address:
            self.socket.unlink(missing_ok=True)
            self._server.socket.bind(address)
        self.socket.chmod(0o600)
        self._server.server_activate()
        start(self._thread)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self.socket.unlink(missing_ok=True)

    @property
    def blocked(self) -> tuple[Blocked, ...]:
        """What was refused so far; the first ones, if there are very many."""
        with self._lock:
            return tuple(self._blocked)

    @property
    def asked(self) -> int:
        """How often the guard was asked."""
        with self._lock:
            return self._asked

    def has_allowed(self, use_id: str) -> bool:
        """Tell whether this one use of a tool was asked about, and allowed."""
        with self._lock:
            return use_id in self._allowed

    @property
    def written(self) -> frozenset[str]:
        """What the run wrote, as far as it was asked for."""
        with self._lock:
            return self._written

    def answer(self, event: bytes, *, since_s: float) -> bytes:
        """Answer one event that began to arrive at a moment of the monotonic clock."""
        # One at a time: an event taken apart may be a hundred times its size.
        with self._turn:
            if is_start(event):
                return YES
            tool, about, use_id, decision = "", "", "", FAULT
            try:
                request = request_of(event, self.written)
                tool, about, use_id = request.tool, _about(request), request.use_id
                decision = self._decide(request)
            except Refused as refused:
                decision = Decision(allowed=False, code=refused.code, reason=refused.reason)
            finally:
                if self._clock.monotonic_s() - since_s > self.deadline_s:
                    decision = Decision(allowed=False, code="too-late", reason="the guard took too long")
                self._note(tool, about, decision, use_id=use_id)
        if decision.allowed:
            return YES
        return NO + f"refused ({decision.code}): {decision.reason}\n".encode(errors="replace")

    def _decide(self, request: GuardRequest) -> Decision:
        return self._guard.decide(request)

    def now_s(self) -> float:
        """Give the moment from which a question is timed."""
        return self._clock.monotonic_s()

    def _note(self, tool: str, about: str, decision: Decision, *, use_id: str) -> None:
        with self._lock:
            self._asked += 1
            if decision.allowed:
                self._written |= decision.writes
                if use_id and len(self._allowed) < MAX_USES:
                    self._allowed.add(use_id)
            elif len(self._blocked) < MAX_REMEMBERED:
                self._blocked.append(Blocked(tool, decision.code, decision.reason, about))


def _about(request: GuardRequest) -> str:
    found = (request.given.get(name) for name in ("command", "file_path", "notebook_path", "path", "url"))
    return next((value[:MAX_ABOUT_CHARS] for value in found if isinstance(value, str)), "")


class _Server(socketserver.ThreadingMixIn, socketserver.BaseServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, service: GuardService) -> None:
        super().__init__("", _Handler)
        self.service = service
        self.places = threading.BoundedSemaphore(MAX_ASKERS)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def fileno(self) -> int:
        return self.socket.fileno()

    def server_activate(self) -> None:
        self.socket.listen(64)

    def server_close(self) -> None:
        self.socket.close()

    def get_request(self) -> tuple[socket.socket, str]:
        return self.socket.accept()[0], "agent"

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - typeshed's own types
        """Answer in a thread of its own; where there is none, the asker is hung up on, and so refused."""
        asked = (request, client_address)
        begin(threading.Thread(target=self.process_request_thread, args=asked, daemon=True))

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401, ARG002 - typeshed's own
        """Refuse after a fault; the asker may be gone."""
        with suppress(OSError):
            request.sendall(NO + f"refused ({FAULT.code}): {FAULT.reason}\n".encode())

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - typeshed's own type
        with suppress(OSError):
            request.shutdown(socket.SHUT_WR)
        request.close()


class _Handler(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        if not self.server.places.acquire(blocking=False):
            self.request.sendall(NO + b"refused (busy): too many questions at one time; ask again\n")
            return
        try:
            self._answer()
        finally:
            self.server.places.release()

    def _answer(self) -> None:
        service, conn = self.server.service, self.request
        since_s = service.now_s()
        conn.settimeout(service.deadline_s)
        chunks: list[bytes] = []
        size = 0
        while chunk := conn.recv(CHUNK_BYTES):
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_EVENT_BYTES:
                conn.sendall(NO + b"refused (event): the event is too large\n")
                return
            if service.now_s() - since_s > service.deadline_s:
                break
        conn.sendall(service.answer(b"".join(chunks), since_s=since_s))
