"""One connection from inside: its request is read, judged, and carried on or refused.

Must not answer for anybody else: a refusal is ours and says so, everything else is the server's own answer.
One request for each connection: a second one would be judged by whoever the first went to.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import h11

from autopilot.runner.network.carried import Carried
from autopilot.runner.network.errand import Errand
from autopilot.runner.network.hello import NoHelloError, server_name
from autopilot.runner.network.names import Refusal, read_target
from autopilot.runner.network.policy import Asked
from autopilot.runner.network.refused import Refused, shown
from autopilot.runner.network.relay import CHUNK_BYTES, relay
from autopilot.runner.network.single import Single

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.network.broker import Broker
    from autopilot.runner.network.ends import Ends
    from autopilot.runner.network.line import Line, Operator
    from autopilot.runner.network.policy import Policy, Way
    from autopilot.runner.network.refused import Refusals

# What a server that is only read from may be sent in one connection: some thousand requests.
MAX_SENT_BYTES = 1024 * 1024
_HEAD_S = 30.0
_LINGER_S = 1.0
_VERSIONS = frozenset({b"1.0", b"1.1"})
_BETWEEN_US = frozenset({b"connection", b"keep-alive", b"host", b"te", b"trailer", b"upgrade"})
_SAID: Mapping[int, tuple[str, str]] = {
    403: ("autopilot: ", "Forbidden"),
    502: ("autopilot got no answer: ", "Bad Gateway"),
}
_MALFORMED = Refusal("malformed", "this is no request that a proxy could understand")


@dataclass(frozen=True, slots=True)
class Visit:
    """The connection, the list it is judged by, and where refusals are noted."""

    client: socket.socket
    policy: Policy
    operator: Operator
    refusals: Refusals
    ends: Ends
    idle_s: float
    broker: Broker | None = None
    carried: Carried = field(default_factory=Carried)

    def serve(self) -> None:
        """Take one request to its end.

        Raises:
            OSError: one of the two ends broke off.
        """
        self.client.settimeout(_HEAD_S)
        parser = h11.Connection(h11.SERVER)
        request = self._request(parser)
        if request is None:
            return
        if isinstance(request, Refusal):
            self.refuse(Refused("", 0, "", request.code), request)
            return
        asked = _asked(request)
        if self.broker is not None and self.broker.is_meant(asked.target):
            Errand(self, self.broker).run(parser, request)
            return
        way = self.policy.judge(asked)
        if isinstance(way, Refusal):
            self.refuse(_refused(asked, way.code), way)
            return
        try:
            line = self.operator.call(way.endpoint, is_raw=way.path is None)
        except OSError as exc:
            self.answer(502, f"{way.endpoint.target.host} cannot be reached: {exc}")
            return
        if isinstance(line, Refusal):
            self.refuse(_refused(asked, line.code), line)
            return
        with self.ends.kept(line.socket):
            if way.path is None:
                self._tunnel(asked, way, line, parser.trailing_data[0])
            else:
                self._forward(request, way, line, parser)

    def _request(self, parser: h11.Connection) -> h11.Request | Refusal | None:
        """Read the head of a request; None when nobody has asked for anything."""
        is_begun = False
        try:
            while (event := parser.next_event()) is h11.NEED_DATA:
                data = self.client.recv(CHUNK_BYTES)
                if not data and not is_begun:
                    return None
                is_begun = True
                parser.receive_data(data)
        except h11.RemoteProtocolError:
            return _MALFORMED
        is_known = isinstance(event, h11.Request) and event.http_version in _VERSIONS
        return event if is_known and isinstance(event, h11.Request) else _MALFORMED

    def _tunnel(self, asked: Asked, way: Way, line: Line, first: bytes) -> None:
        self.client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        if way.endpoint.is_tls:
            read = self._hello(first)
            if isinstance(read, bytes):
                first = read
                refusal = self._other_name(first, way)
            else:
                refusal = read
            if refusal is not None:
                self.refusals.add(_refused(asked, refusal.code))
                return
        purse = _Purse(None if way.endpoint.writes else MAX_SENT_BYTES - len(first))
        if not relay(self.client, line.socket, idle_s=self.idle_s, first_up=first, taken=purse.taken):
            self.refusals.add(_refused(asked, "too-much-sent"))

    def _hello(self, first: bytes) -> bytes | Refusal:
        """Read on until the client has named its server, or has shown that it will not."""
        try:
            while server_name(first) is None:
                data = self.client.recv(CHUNK_BYTES)
                if not data:
                    return Refusal("tls-broken-off", "the client named no server")
                first += data
        except NoHelloError as exc:
            return Refusal("not-tls", str(exc))
        return first

    def _other_name(self, hello: bytes, way: Way) -> Refusal | None:
        is_same = way.endpoint.target.is_address or server_name(hello) == way.endpoint.target.host
        return None if is_same else Refusal("tls-other-name", "the client asks TLS for another server")

    def _forward(self, request: h11.Request, way: Way, line: Line, parser: h11.Connection) -> None:
        try:
            single = Single(parser, _anew(request, way, line))
            first = single.begin()
        except h11.ProtocolError:
            self.refuse(Refused("", 0, "", _MALFORMED.code), _MALFORMED)
            return
        relay(
            self.client,
            line.socket,
            idle_s=self.idle_s,
            first_up=first,
            is_one_way=single.has_asked,
            taken=single.taken,
        )

    def refuse(self, refused: Refused, refusal: Refusal) -> None:
        """Note it, and say it to whoever asked."""
        self.refusals.add(refused)
        self.answer(403, refusal.reason, code=refusal.code)

    def answer(self, status: int, reason: str, *, code: str = "unreachable") -> None:
        """Say it, and wait a moment until the other side has read it.

        Only a refusal bears our mark (`agents/refused_host.py`): what is not reached now may be so later.
        """
        mark, phrase = _SAID[status]
        text = f"{mark}{reason}\n".encode("ascii", "backslashreplace")
        head = (
            f"HTTP/1.1 {status} {phrase}\r\nX-Autopilot-Refused: {code}\r\nContent-Type: text/plain\r\n"
            f"Content-Length: {len(text)}\r\nConnection: close\r\n\r\n"
        )
        self.client.settimeout(_LINGER_S)
        self.client.sendall(head.encode("ascii") + text)
        self.part()

    def part(self) -> None:
        """Say that this was all, and wait a moment until the other side has read it.

        Raises:
            OSError: it has not.
        """
        self.client.shutdown(socket.SHUT_WR)
        self.client.settimeout(_LINGER_S)
        self.client.recv(CHUNK_BYTES)


class _Purse:
    """What may still be sent; None: anything."""

    def __init__(self, left: int | None) -> None:
        self._left = left

    def taken(self, data: bytes) -> bytes | None:
        if self._left is None:
            return data
        self._left -= len(data)
        return data if self._left >= 0 else None


def _asked(request: h11.Request) -> Asked:
    headers = list(request.headers)
    return Asked(
        method=request.method.decode("latin-1"),
        target=request.target.decode("latin-1"),
        hosts=tuple(value.decode("latin-1") for name, value in headers if name == b"host"),
        has_body=any(
            name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
            for name, value in headers
        ),
        has_two_lengths={b"transfer-encoding", b"content-length"} <= {name for name, _ in headers},
    )


def _refused(asked: Asked, code: str) -> Refused:
    """Say what was asked for, by host and port where they can be read."""
    authority = asked.target.partition("://")[2] or asked.target
    authority = authority.split("/", 1)[0]
    target = read_target(authority, default_port=443 if asked.method == "CONNECT" else 80)
    if isinstance(target, Refusal):
        return Refused(shown(authority), 0, shown(asked.method)[:20], code)
    return Refused(shown(target.host), target.port, shown(asked.method)[:20], code)


def _anew(request: h11.Request, way: Way, line: Line) -> h11.Request:
    """Write the request anew: our own Host header, one request only, no word between client and proxy."""
    headers = list(request.headers)
    named = {
        word.strip().lower() for name, value in headers if name == b"connection" for word in value.split(b",")
    }
    dropped = (_BETWEEN_US | named) - {b"transfer-encoding", b"content-length"}
    target = way.endpoint.target
    host = str(target) if target.port != 80 else str(target).removesuffix(":80")  # noqa: PLR2004 - HTTP's own
    kept = [
        (name, value) for name, value in headers if name not in dropped and not name.startswith(b"proxy-")
    ]
    ours = [(b"Host", host.encode("ascii")), (b"Connection", b"close")]
    path = way.path or "/"
    if line.proxy is not None:
        path = f"http://{host}{path}"
        if line.proxy.authorization:
            ours.append((b"Proxy-Authorization", line.proxy.authorization.encode("ascii")))
    return h11.Request(method=request.method, target=path.encode("ascii"), headers=[*ours, *kept])
