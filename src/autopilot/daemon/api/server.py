"""Turns each request on a listening socket into one call of the given handler.

Must not know what the paths mean (`answers.py` does), where the socket lies (`control.py` does), or decide
anything about tickets.
"""

from __future__ import annotations

import itertools
import json
import selectors
import socket
import socketserver
import sys
import threading
from contextlib import suppress
from http.client import responses
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from autopilot.config import installed
from autopilot.config.threads import begin
from autopilot.daemon.api.answer import content_of
from autopilot.daemon.api.call import Call, CallError, error_body, status_of
from autopilot.schemas.errors import AutopilotError, InvariantError, TransientError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_BODY_BYTES = 4 * 1024 * 1024
REQUEST_TIMEOUT_S = 10.0
JOIN_TIMEOUT_S = 5.0
LINGER_S = 1.0
LINGER_CHUNKS = 64
CHUNK_BYTES = 65536
MAX_LENGTH_DIGITS = 12
BACKLOG = 64
MAX_CALLS = 64
"""Calls answered at once. More would eat the descriptors that the queue and its children need."""
FULL_PAUSE_S = 0.02
_NO_THREAD = TransientError(
    "daemon-short",
    "the daemon lives, and has no thread or no memory to answer with",
    hint="end other processes, or raise the limit on memory (ulimit -v) or processes (ulimit -u)",
)

_TOO_LATE = TransientError(
    "asked-too-late", "the daemon did not wait any longer for the call; nothing was done", hint="try again"
)


class Server(socketserver.ThreadingMixIn, socketserver.BaseServer):
    """A stream server on a unix socket that knows its live connections."""

    def __init__(
        self, handle: Callable[[Call], Mapping[str, Any]], on_fault: Callable[[BaseException], None]
    ) -> None:
        super().__init__("", _Handler)
        self.handle_call = handle
        self._on_fault = on_fault
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.wake, self._woken = socket.socketpair()
        self._live: dict[threading.Thread, socket.socket] = {}
        self._guard = threading.Lock()
        self._no_thread = b"HTTP/1.0 503 Later\r\n" + _payload(error_body(_NO_THREAD))
        """Put together while there is memory for it."""

    def server_activate(self) -> None:
        self.socket.listen(BACKLOG)

    def server_close(self) -> None:
        for sock in (self.socket, self.wake, self._woken):
            sock.close()

    def serve(self) -> None:
        """Take calls until `wake` is closed; no wake-up of the machine while nobody calls."""
        with selectors.DefaultSelector() as waiting, selectors.DefaultSelector() as closing:
            waiting.register(self.socket, selectors.EVENT_READ)
            waiting.register(self._woken, selectors.EVENT_READ)
            closing.register(self._woken, selectors.EVENT_READ)
            while all(key.fileobj is self.socket for key, _ in waiting.select()):
                while self._is_full() and not closing.select(FULL_PAUSE_S):
                    pass
                try:
                    self.process_request(*self.get_request())
                except (
                    OSError,
                    MemoryError,
                ):  # the caller is gone, or we can open no more: no reason to spin
                    self._hurry_first()
                    closing.select(FULL_PAUSE_S)

    def _is_full(self) -> bool:
        """Tell whether no more calls can be taken now; then whoever came first must have asked by now."""
        with self._guard:
            is_full = len(self._live) >= MAX_CALLS
        if is_full:
            self._hurry_first()
        return is_full

    def _hurry_first(self) -> None:
        """Let who came first wait no longer for himself; an answer under way is not disturbed by that."""
        with self._guard:
            first = next(iter(self._live.values()), None)
        if first is not None:
            _shut(first, socket.SHUT_RD)

    def get_request(self) -> tuple[socket.socket, str]:
        return self.socket.accept()[0], "operator"

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - typeshed's own type
        with suppress(OSError):  # closing over unread bytes would take the answer away from the asker
            request.shutdown(socket.SHUT_WR)
            request.settimeout(LINGER_S)
            sum(map(len, itertools.islice(iter(lambda: request.recv(CHUNK_BYTES), b""), LINGER_CHUNKS)))
        request.close()

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - typeshed's own types
        thread = threading.Thread(
            target=self._answer, args=(request, client_address), name="control-call", daemon=True
        )
        with self._guard:
            self._live[thread] = request
        try:
            begin(thread)
        except (RuntimeError, MemoryError):  # no thread: this caller is turned away, the next may be lucky
            with self._guard:
                self._live.pop(thread, None)
            with suppress(OSError):
                request.sendall(self._no_thread)
            self.shutdown_request(request)

    def _answer(self, request: socket.socket, client_address: str) -> None:
        try:
            self.process_request_thread(request, client_address)
        finally:
            with self._guard:
                self._live.pop(threading.current_thread(), None)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401, ARG002 - typeshed's own
        """Tell the log and the asker of a bug; an asker that went away is nobody's error."""
        error = sys.exc_info()[1]
        if error is None or isinstance(error, OSError):
            return
        self._on_fault(error)
        bug = InvariantError("unexpected-error", f"the daemon has a bug: {error!r}")
        body = error_body(installed.replaced() if installed.is_replaced() else bug)
        with suppress(OSError):
            request.sendall(b"HTTP/1.0 500 Bug\r\n" + _payload(body))

    @property
    def is_busy(self) -> bool:
        """Tell whether a call is still being answered."""
        with self._guard:
            return bool(self._live)

    def end_connections(self) -> None:
        """Let answers under way end; cut those that wait for their asker."""
        with self._guard:
            live = dict(self._live)
        for conn in live.values():
            _shut(conn, socket.SHUT_RD)
        for thread, conn in live.items():
            thread.join(JOIN_TIMEOUT_S)
            if thread.is_alive():
                _shut(conn, socket.SHUT_RDWR)


def _shut(conn: socket.socket, how: int) -> None:
    with suppress(OSError):  # it was closed in between
        conn.shutdown(how)


class _Handler(BaseHTTPRequestHandler):
    """Reads one request, asks the handler, writes one JSON object."""

    server: Server
    timeout = REQUEST_TIMEOUT_S
    _has_replied = False
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        try:
            self._reply(200, self.server.handle_call(self._read_call()))
        except AutopilotError as error:
            self._reply(status_of(error), error_body(error))

    def _read_call(self) -> Call:
        try:
            url = urlsplit(self.path)
        except ValueError as exc:
            raise CallError(400, "bad-path", f"the path cannot be read: {exc}") from exc
        length = self.headers.get("Content-Length", "0")
        if not (length.isascii() and length.isdecimal() and len(length) <= MAX_LENGTH_DIGITS):
            raise CallError(400, "bad-length", f"Content-Length is {length[:40]!r}")
        if int(length) > MAX_BODY_BYTES:
            raise CallError(413, "body-too-large", f"the body is over {MAX_BODY_BYTES} bytes")
        raw = self.rfile.read(int(length))
        if len(raw) != int(length):
            raise CallError(400, "body-cut-off", "the body ended before its length")
        return Call(self.command, url.path, dict(parse_qsl(url.query)), _object(raw))

    def log_error(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401, ARG002 - the base class's
        """Tell a caller whom we no longer wait for that nothing was done: the base class only hangs up."""
        if not self._has_replied:
            with suppress(OSError):
                self._reply(408, error_body(_TOO_LATE))

    def _reply(self, status: int, body: Mapping[str, Any]) -> None:
        self._has_replied = True
        content = content_of(body)
        self.wfile.write(f"HTTP/1.0 {status} {responses.get(status, 'Error')}\r\n".encode() + _head(content))
        self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        error = CallError(code, "bad-request", message or explain or "the request is not HTTP")
        self.close_connection = True
        self._reply(code, error_body(error))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 - the base class's names
        """Say nothing: what a call did is in the log where it did it."""


def _payload(body: Mapping[str, Any]) -> bytes:
    content = content_of(body)
    return _head(content) + content


def _head(content: bytearray) -> bytes:
    return f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n".encode()


def _object(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw or b"{}")
    except (ValueError, RecursionError) as exc:
        raise CallError(400, "body-not-json", f"the body is not JSON: {exc}") from exc
    if not isinstance(body, dict):
        raise CallError(400, "body-not-an-object", "the body must be a JSON object")
    return body
