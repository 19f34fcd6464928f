"""Opens the connection outwards: to the very address that was looked at, or through the operator's proxy.

Must not connect to an address that was not checked, nor follow anybody anywhere else.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from autopilot.config.outward import Outward
from autopilot.runner.network.addresses import is_public
from autopilot.runner.network.names import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autopilot.config.outward import Proxy
    from autopilot.runner.network.policy import Endpoint

CONNECT_S = 15.0
_MAX_ADDRESSES = 4
_MAX_ANSWER_BYTES = 16 * 1024


class Net(Protocol):
    """This host's network: the real one, or a small one that a test has made."""

    def resolve(self, host: str, port: int) -> Sequence[str]:
        """Give the addresses of a name.

        Raises:
            OSError: there is none, or nobody answers.
        """
        ...

    def connect(self, address: str, port: int) -> socket.socket:
        """Connect to an address.

        Raises:
            OSError: it is not reached.
        """
        ...


@dataclass(frozen=True, slots=True)
class HostNet:
    """What the operating system offers."""

    def resolve(self, host: str, port: int) -> Sequence[str]:
        """Ask the system's resolver."""
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        return tuple(dict.fromkeys(str(address[0]) for *_, address in found))

    def connect(self, address: str, port: int) -> socket.socket:
        """Open a TCP connection."""
        return socket.create_connection((address, port), timeout=CONNECT_S)


@dataclass(frozen=True, slots=True)
class Line:
    """An open connection. Behind a proxy a plain request names the whole address, and carries its login."""

    socket: socket.socket
    proxy: Proxy | None = None


@dataclass(frozen=True, slots=True)
class Operator:
    """Connects one visitor after the other."""

    net: Net = field(default_factory=HostNet)
    outward: Outward = field(default_factory=Outward)

    def call(self, endpoint: Endpoint, *, is_raw: bool = True) -> Line | Refusal:
        """Open a connection to an endpoint.

        Args:
            endpoint: whom to reach.
            is_raw: bytes may go over it that we did not write ourselves. Then a proxy on the way has to lead
                to the endpoint and nowhere else first: it would take them for requests to itself.

        Raises:
            OSError: it cannot be reached.
        """
        proxy = self.outward.proxy_for(endpoint.target.host, is_tls=endpoint.is_tls)
        if proxy is not None:
            return self._through(proxy, endpoint, is_raw=is_raw)
        host, port = endpoint.target.host, endpoint.target.port
        addresses = self.net.resolve(host, port)[:_MAX_ADDRESSES]
        if not endpoint.may_be_near and not all(map(is_public, addresses)):
            return Refusal("private-address", f"{host} is at an address that is not of the public internet")
        return Line(self._first(addresses, port))

    def _first(self, addresses: Sequence[str], port: int) -> socket.socket:
        last = OSError("the name has no address")
        for address in addresses:
            try:
                return self.net.connect(address, port)
            except OSError as exc:
                last = exc
        raise last

    def _through(self, proxy: Proxy, endpoint: Endpoint, *, is_raw: bool) -> Line:
        line = self._first(self.net.resolve(proxy.host, proxy.port)[:_MAX_ADDRESSES], proxy.port)
        if not endpoint.is_tls and not is_raw:
            return Line(line, proxy)
        try:
            _ask_for_tunnel(line, proxy, str(endpoint.target))
        except OSError:
            line.close()
            raise
        return Line(line)


def _ask_for_tunnel(line: socket.socket, proxy: Proxy, target: str) -> None:
    """Ask a proxy for a connection to somebody else.

    Raises:
        OSError: it gives none.
    """
    login = f"Proxy-Authorization: {proxy.authorization}\r\n" if proxy.authorization else ""
    line.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{login}\r\n".encode("ascii"))
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):  # a byte each time: what comes next is not ours
        piece = line.recv(1)
        if not piece or len(answer) > _MAX_ANSWER_BYTES:
            raise ConnectionError("the host's own proxy broke off")
        answer += piece
    status = answer.split(b" ", 2)[1:2]
    if not status or not status[0].startswith(b"2"):
        raise ConnectionError(
            f"the host's own proxy answered {(status or [b'nothing'])[0].decode('latin-1')}"
        )
