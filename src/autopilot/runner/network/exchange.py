"""One call on its way: both ends speak HTTP/1.1, and each byte is understood before it is passed on.

Must not keep or show what it carries. Bodies are passed on as they come, in both directions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import h11

from autopilot.runner.network.broker import MAX_BODY_BYTES, without_ours

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_HEAD_BYTES = 64 * 1024


class TooLargeError(Exception):
    """The request's body is larger than any may be."""


class Exchange:
    """Pure: bytes of one end in, bytes for the other out."""

    def __init__(self, client: h11.Connection, request: h11.Request) -> None:
        """Begin with a client whose request's head has been read, and the request as the service gets it."""
        self._client = client
        self._service = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._head = self._service.send(request) or b""
        self._sent_bytes = 0
        self.has_asked = self.has_answered = self.is_over = False
        self.status: int | None = None
        """What the service answered with."""

    def greeting(self) -> bytes:
        """Give what the client is told first: to go on, if it waits for that."""
        if not self._client.they_are_waiting_for_100_continue:
            return b""
        return self._client.send(h11.InformationalResponse(status_code=100, headers=[])) or b""

    def up(self, data: bytes = b"") -> bytes:
        """Take bytes of the client, and give those for the service; a second request is not carried.

        Raises:
            h11.RemoteProtocolError: they are no body of a request.
            TooLargeError: it is too large.
        """
        if self.has_asked:
            return b""
        if data:
            self._client.receive_data(data)
        head, self._head = self._head, b""
        return head + b"".join(self._asked())

    def down(self, data: bytes) -> bytes:
        """Take bytes of the service (none: it has closed), and give those for the client.

        Raises:
            h11.RemoteProtocolError: they are no answer, or not all of one.
        """
        self._service.receive_data(data)
        return b"".join(self._answered())

    def _asked(self) -> Iterator[bytes]:
        while not self.has_asked and (event := self._client.next_event()) is not h11.NEED_DATA:
            if isinstance(event, h11.Data):
                self._sent_bytes += len(event.data)
                if self._sent_bytes > MAX_BODY_BYTES:
                    raise TooLargeError
                yield self._service.send(event) or b""
            else:
                self.has_asked = True
                yield self._service.send(h11.EndOfMessage()) or b""

    def _answered(self) -> Iterator[bytes]:
        while not self.is_over and (event := self._service.next_event()) is not h11.NEED_DATA:
            if isinstance(event, h11.Response):
                self.has_answered, self.status = True, event.status_code
                headers = [*without_ours(event.headers), (b"Connection", b"close")]
                answer = h11.Response(status_code=event.status_code, headers=headers, reason=event.reason)
                yield self._client.send(answer) or b""
            elif isinstance(event, h11.Data):
                yield self._client.send(event) or b""
            elif isinstance(event, h11.EndOfMessage):
                self.is_over = True
                yield self._client.send(h11.EndOfMessage()) or b""
            elif not isinstance(event, h11.InformationalResponse):
                raise h11.RemoteProtocolError("the service closed without an answer")
