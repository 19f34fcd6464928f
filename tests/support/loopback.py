"""A threaded HTTP server on loopback that closes without leaving a socket behind.

`shutdown` wakes handlers that wait on `closing`, cuts the connections that clients
keep open, and joins every thread: warnings are errors in this suite.

What reaches any of them has left the machine, as a prompt, a draft or a message: it holds no secret of the
person (`canary`), or closing fails.
"""

import gzip
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.support import canary


class LoopbackServer(ThreadingHTTPServer):
    """Listens on 127.0.0.1, on a free port unless one is named; a context manager."""

    daemon_threads = False
    block_on_close = True

    def __init__(self, handler: type["LoopbackHandler"], port: int = 0) -> None:
        self.closing = threading.Event()
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        self.leaks: list[str] = []
        super().__init__(("127.0.0.1", port), handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where clients find this server, without a last slash."""
        return f"http://127.0.0.1:{self.server_port}"

    def close(self) -> None:
        """Stop answering and let go of every socket and thread; may be called twice."""
        if self.closing.is_set():
            return
        self.closing.set()
        self.shutdown()
        self._thread.join()
        with self._open_lock:
            for connection in self._open:
                hang_up(connection)
        self.server_close()
        assert not self.leaks, f"a secret of the person's environment was sent: {self.leaks}"

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - base
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - base
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no error of the test; anything else is shown."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class LoopbackHandler(BaseHTTPRequestHandler):
    """Reads whole bodies, whatever their encoding; says nothing on stderr."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - base
        return

    def read_body(self) -> bytes:
        """The request's body, un-chunked and un-gzipped."""
        if "chunked" in (self.headers.get("Transfer-Encoding") or ""):
            raw = self._read_chunks()
        else:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            raw = gzip.decompress(raw)
        sent = {"request": f"{self.requestline}\n{self.headers}", "body": raw.decode(errors="replace")}
        leaks = [f"{self.command} {self.path}: {part}" for part, text in sent.items() if canary.holds(text)]
        assert isinstance(self.server, LoopbackServer)
        self.server.leaks += leaks
        return raw

    def _read_chunks(self) -> bytes:
        raw = b""
        while True:
            size = int(self.rfile.readline().split(b";")[0].strip() or b"0", 16)
            raw += self.rfile.read(size)
            self.rfile.readline()
            if not size:
                return raw

    def send_bytes(self, status: int, headers: dict[str, str], data: bytes) -> None:
        """One whole answer with its length."""
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def cut(self) -> None:
        """Close the connection under the client, without another word."""
        self.wfile.flush()
        self.close_connection = True
        hang_up(self.connection)


def hang_up(connection: socket.socket) -> None:
    """Shut a socket down in both directions; the other side may have been first."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
