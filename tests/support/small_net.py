"""A network of a few hosts: names and public addresses that are really servers on loopback.

The outlet is given `SmallNet` in place of the host's own network, so a test sees which name was looked up
and which address was connected to; what lies behind an address is a real server.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.support.loopback import LoopbackHandler, LoopbackServer


class Listening(Protocol):
    """A server on loopback."""

    @property
    def server_port(self) -> int: ...


@dataclass(frozen=True, slots=True)
class SmallNet:
    """`names` to addresses, `servers` by address and port."""

    names: Mapping[str, Sequence[str]]
    servers: Mapping[tuple[str, int], Listening] = field(default_factory=dict)
    looked_up: list[str] = field(default_factory=list)
    connected: list[tuple[str, int]] = field(default_factory=list)

    def resolve(self, host: str, port: int) -> Sequence[str]:
        self.looked_up.append(host)
        if host not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return self.names[host]

    def connect(self, address: str, port: int) -> socket.socket:
        self.connected.append((address, port))
        if (address, port) not in self.servers:
            raise ConnectionRefusedError
        return socket.create_connection(("127.0.0.1", self.servers[address, port].server_port), timeout=10)


class Pages(LoopbackServer):
    """Says what it was asked; `/away` sends elsewhere, `/long` is a megabyte, `/drip` never ends."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        super().__init__(_PageHandler)


class _PageHandler(LoopbackHandler):
    server: Pages

    def _answer(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.read_body()
        self.server.asked.append((self.command, self.path, headers, body))
        if self.path == "/away":
            self.send_bytes(302, {"Location": "http://evil.example/"}, b"")
        elif self.path == "/long":
            self.send_bytes(200, {}, b"x" * 1_000_000)
        elif self.path == "/drip":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"first")
            self.wfile.flush()
            self.server.closing.wait(30)
        else:
            self.send_bytes(200, {"X-Page": "1"}, f"{self.command} {self.path} {len(body)}".encode())

    do_GET = do_HEAD = do_POST = do_PUT = _answer  # noqa: N815 - names of the base


class Echo(LoopbackServer):
    """A server that sends back whatever it is sent, and keeps it."""

    def __init__(self) -> None:
        self.heard = b""
        self.lock = threading.Lock()
        super().__init__(_EchoHandler)


class _EchoHandler(LoopbackHandler):
    server: Echo

    def handle(self) -> None:
        while data := self.request.recv(65536):
            with self.server.lock:
                self.server.heard += data
            self.request.sendall(data)


def talk(path: Any, data: bytes, *, then: bytes = b"") -> bytes:  # noqa: ANN401 - a path or an address
    """Send bytes to a unix socket, half-close, and give all that comes back, also if it hangs up early."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(30)
        client.connect(str(path))
        answer = b""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            client.sendall(data)
            while then and b"\r\n\r\n" not in answer:
                if not (piece := client.recv(65536)):
                    return answer
                answer += piece
            client.sendall(then)
        with contextlib.suppress(OSError):  # it has hung up, and nothing is left to close
            client.shutdown(socket.SHUT_WR)
        while piece := _received(client):
            answer += piece
        return answer


def _received(client: socket.socket) -> bytes:
    try:
        return client.recv(65536)
    except ConnectionResetError:
        return b""


class Door(LoopbackServer):
    """A TCP port that leads to a unix socket, and notes the first bytes of each visitor."""

    def __init__(self, path: Any, seen: list[bytes]) -> None:  # noqa: ANN401 - a path or an address
        self.path, self.seen = str(path), seen
        super().__init__(_DoorHandler)


class _DoorHandler(LoopbackHandler):
    server: Door

    def handle(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as behind:
            behind.connect(self.server.path)
            back = threading.Thread(target=_carry, args=(behind, self.request))
            back.start()
            first = True
            while data := _received(self.request):
                if first:
                    self.server.seen.append(data)
                first = False
                behind.sendall(data)
            with contextlib.suppress(OSError):
                behind.shutdown(socket.SHUT_WR)
            back.join()


def _carry(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
