"""The one request of a connection on its way to a server that may be asked: its head and its own body.

Pure. Must not pass on a byte behind that: to the host's own proxy it would be another request, for anybody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import h11

if TYPE_CHECKING:
    from collections.abc import Iterator


class Single:
    """Bytes of the client in, bytes for the server out, until it has asked."""

    def __init__(self, client: h11.Connection, request: h11.Request) -> None:
        """Begin with a client whose request's head has been read, and the request as the server gets it."""
        self._client, self._request = client, request
        self._server = h11.Connection(h11.CLIENT)
        self.has_asked = False

    def begin(self) -> bytes:
        """Give the head, and what has come of the body with it.

        Raises:
            h11.ProtocolError: the two are no request.
        """
        head = self._server.send(self._request) or b""
        return head + b"".join(self._body())

    def taken(self, data: bytes) -> bytes | None:
        """Take more of the client's, and give what is of the body; None: it is no body, and nothing follows.

        Args:
            data: nothing once the client has ended.
        """
        if self.has_asked:
            return b""
        try:
            self._client.receive_data(data)
            return b"".join(self._body())
        except h11.ProtocolError:
            return None

    def _body(self) -> Iterator[bytes]:
        while not self.has_asked and (event := self._client.next_event()) is not h11.NEED_DATA:
            if isinstance(event, h11.Data):
                yield self._server.send(event) or b""
            else:
                self.has_asked = True
                yield self._server.send(h11.EndOfMessage()) or b""
