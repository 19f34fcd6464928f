"""A key broker at the gate of a small network, the model's service behind it, and who says anything to it.

The service is a real server whose answers a test writes byte by byte; the certificate of the encrypted one is
made by openssl for this test alone.
"""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from autopilot.config.outward import Outward
from autopilot.runner.network.broker import Broker, Key
from autopilot.runner.network.calls import MESSAGES
from autopilot.runner.network.line import Operator
from autopilot.runner.network.names import Target
from autopilot.runner.network.outlet import Gate, Outlet
from autopilot.runner.network.plan import agent_policy, service
from autopilot.schemas.network import NetworkSpec
from tests.support.small_net import SmallNet

REAL: Final = "real-credential-of-the-operator-0815"
WORD: Final = "autopilot-0123456789abcdef"
HERE: Final = "127.0.0.1:3128"
PUBLIC: Final = "8.8.8.8"
OK: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Own: 1\r\n\r\nok"

SSE: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

Answer = Callable[["Service", socket.socket], None]


class Service:
    """Listens on loopback, keeps what each visitor sends, and answers as it is told to."""

    def __init__(self, answer: Answer | bytes, *, tls: ssl.SSLContext | None = None) -> None:
        self.heard: list[bytes] = []
        self.closing, self.left = threading.Event(), threading.Event()
        self._answer, self._tls = answer, tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._welcome, daemon=True)]
        self._threads[0].start()

    @property
    def server_port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    def request(self, client: socket.socket) -> bytes:
        """Read one whole request, head and body, as it came."""
        heard, size = bytearray(), -1
        while size < 0 or len(heard) < size:
            if not (piece := client.recv(65536)):
                break
            heard += piece
            size = _size_of(heard)
        self.heard.append(bytes(heard))
        return self.heard[-1]

    def wait_for_the_end(self, client: socket.socket) -> None:
        """Wait until the other side has gone."""
        with contextlib.suppress(OSError):
            while client.recv(65536):
                pass
        self.left.set()

    def close(self) -> None:
        self.closing.set()
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def _welcome(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(client)
            thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            client.settimeout(30)
            if self._tls is None:
                self._reply(client)
                return
            with self._tls.wrap_socket(client, server_side=True) as sealed:
                self._reply(sealed)

    def _reply(self, client: socket.socket) -> None:
        if isinstance(self._answer, bytes):
            self.request(client)
            client.sendall(self._answer)
        else:
            self._answer(self, client)


def _size_of(heard: bytearray) -> int:
    """How long the whole request is of which this is the beginning; negative: that cannot be told yet."""
    end = heard.find(b"\r\n\r\n", 0, 70_000)
    if end < 0:
        return -1
    head = heard[:end].lower()
    if b"transfer-encoding: chunked" in head:
        return len(heard) if heard.endswith(b"0\r\n\r\n") else -1
    length = re.search(rb"content-length: *([0-9]+)", head)
    return end + 4 + (int(length[1]) if length else 0)


class Desk:
    """A broker for `api.example`; `answer` is what stands behind it."""

    def __init__(
        self,
        folder: Path,
        stack: ExitStack,
        answer: Answer | bytes = OK,
        *,
        url: str = "http://api.example",
        tls: ssl.SSLContext | None = None,
        outward: Outward | None = None,
        idle_s: float = 30.0,
        is_listed: bool = True,
    ) -> None:
        self.service = Service(answer, tls=tls)
        stack.callback(self.service.close)
        endpoint = service(url)
        self.net = SmallNet(
            names={"api.example": [PUBLIC], "proxy.example": ["10.0.0.9"]},
            servers={
                (PUBLIC, endpoint.target.port): self.service,
                ("10.0.0.9", 8080): self.service,
            },
        )
        self.broker = Broker(
            here=Target("127.0.0.1", 3128, is_address=True),
            endpoint=endpoint,
            keys=(Key(WORD, REAL),),
            calls=MESSAGES,
            prefix=url.partition("example")[2],
            is_listed=is_listed,
        )
        network = NetworkSpec(static_hosts=("api.example", "docs.example"))
        policy = agent_policy(network, (url,), brokered=endpoint)
        operator = Operator(self.net, outward or Outward())
        self.outlet = stack.enter_context(
            Outlet(folder / "outlet.sock", Gate(policy, operator, self.broker), idle_s=idle_s)
        )

    def visitor(self) -> socket.socket:
        """Open a connection to the outlet."""
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.settimeout(30)
        client.connect(str(self.outlet.socket))
        return client

    def ask(self, *pieces: bytes) -> bytes:
        """Send these bytes, and give all that comes back."""
        with self.visitor() as client:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                for piece in pieces:
                    client.sendall(piece)
            return b"".join(rest_of(client))

    def codes(self) -> list[str]:
        return [refused.code for refused in self.outlet.refusals.counts()]


def rest_of(client: socket.socket) -> Iterator[bytes]:
    """All that still comes, until the other side has said all or broken off."""
    with contextlib.suppress(ConnectionResetError):
        while piece := client.recv(65536):
            yield piece


def headers_of(message: bytes) -> dict[str, str]:
    """The headers of a request or an answer, by their names in lower case."""
    head, _, _ = message.partition(b"\r\n\r\n")
    pairs = (line.decode("latin-1").partition(":") for line in head.split(b"\r\n")[1:])
    return {name.lower(): value.strip() for name, _, value in pairs}


def chunk(data: bytes) -> bytes:
    """One piece of a body that is sent in chunks."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def call(
    target: str = "/v1/messages?beta=true",
    *,
    method: str = "POST",
    host: str = HERE,
    key: str | None = f"x-api-key: {WORD}",
    more: str = "",
    body: bytes = b"{}",
    version: str = "1.1",
) -> bytes:
    """Write a request as a client does; `more` are whole header lines with LF at their ends."""
    head = f"{method} {target} HTTP/{version}\nHost: {host}\n"
    head += f"{key}\n" if key else ""
    head += more
    if "content-length" not in more.lower() and "transfer-encoding" not in more.lower():
        head += f"Content-Length: {len(body)}\n"
    return f"{head}\n".replace("\n", "\r\n").encode("latin-1") + body


def certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, Path]:
    """Make a certificate for a host that nobody but this test trusts, and give its file."""
    key, cert = folder / f"{name}.key", folder / f"{name}.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
            *("-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"),
            *("-keyout", str(key), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
        timeout=60,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context, cert


MakeDesk = Callable[..., Desk]
