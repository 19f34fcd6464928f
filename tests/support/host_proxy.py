"""The proxy through which a test's machine gets out: it takes all for requests to itself, and keeps them."""

from __future__ import annotations

import threading

from tests.support.loopback import LoopbackHandler, LoopbackServer


class HostProxy(LoopbackServer):
    """Says yes to everything, and never hangs up first, whatever it was asked to."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        """What each visitor has sent, in the order in which they came."""
        self.lock = threading.Lock()
        super().__init__(_Visitor)

    @property
    def all_heard(self) -> bytes:
        return b"".join(self.heard)


class _Visitor(LoopbackHandler):
    server: HostProxy

    def handle(self) -> None:
        with self.server.lock:
            place = len(self.server.heard)
            self.server.heard.append(b"")
        while data := self.request.recv(65536):
            with self.server.lock:
                self.server.heard[place] += data
            self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
