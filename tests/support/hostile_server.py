"""A server on loopback that answers every request in the same ill-mannered way."""

from collections.abc import Iterator
from itertools import repeat
from typing import Final

from tests.support.loopback import LoopbackHandler, LoopbackServer

Answers = tuple[int, dict[str, str], Iterator[bytes]]
DRIP_S: Final = 0.05


class HostileServer(LoopbackServer):
    """Sends a status, headers and a body that may have no end, with a pause after each piece.

    With `has_endless_headers` the pieces are headers, and there never is a body.
    """

    def __init__(
        self,
        status: int,
        headers: dict[str, str],
        *pieces: bytes,
        is_endless: bool = False,
        pause_s: float = 0,
        has_endless_headers: bool = False,
    ) -> None:
        self.status = status
        self.headers = headers
        self.pieces = pieces
        self.is_endless = is_endless or has_endless_headers
        self.has_endless_headers = has_endless_headers
        self.pause_s = pause_s
        self.asked: list[dict[str, str]] = []
        super().__init__(_Handler)

    def body(self) -> Iterator[bytes]:
        if self.is_endless:
            return (piece for _ in repeat(None) for piece in self.pieces)
        return iter(self.pieces)


class _Handler(LoopbackHandler):
    server: HostileServer
    protocol_version = "HTTP/1.0"

    def _handle(self) -> None:
        self.server.asked.append(dict(self.headers.items()))
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.flush_headers() if self.server.has_endless_headers else self.end_headers()
        for piece in self.server.body():
            if self.server.closing.wait(self.server.pause_s):
                return
            self.wfile.write(piece)

    do_GET = do_POST = do_CONNECT = _handle  # noqa: N815 - names of the base
