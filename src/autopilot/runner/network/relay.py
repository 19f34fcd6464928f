"""Carries bytes both ways between two sockets until one end has said all, holding only a little of them.

Must not look at what it carries.
"""

from __future__ import annotations

import selectors
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Taken = Callable[[bytes], bytes | None]

CHUNK_BYTES = 64 * 1024


class _Way:
    """One direction: what has been read and not yet written, at most one chunk."""

    def __init__(self, source: socket.socket, sink: socket.socket, first: bytes, taken: Taken) -> None:
        self.source, self.sink = source, sink
        self.held, self.taken = memoryview(first), taken
        self.has_ended = False
        self.is_closed = False

    @property
    def wants_read(self) -> bool:
        return not self.has_ended and not self.held

    def read(self) -> bool:
        try:
            data = self.source.recv(CHUNK_BYTES)
        except BlockingIOError:
            return True
        self.has_ended = not data
        piece = self.taken(data)
        self.held = memoryview(piece or b"")
        return piece is not None

    def write(self) -> None:
        if self.held:
            try:
                self.held = self.held[self.sink.send(self.held) :]
            except BlockingIOError:
                return
        if self.has_ended and not self.held and not self.is_closed:
            self.is_closed = True
            self.sink.shutdown(socket.SHUT_WR)


def relay(
    client: socket.socket,
    server: socket.socket,
    *,
    idle_s: float,
    first_up: bytes = b"",
    is_one_way: bool = False,
    taken: Taken = lambda data: data,
) -> bool:
    """Carry bytes until the server has ended, or both have, or nothing has moved for a time.

    Args:
        client: who asked.
        server: whom it asked.
        idle_s: how long nothing may move.
        first_up: what goes to the server before anything else.
        is_one_way: nothing more is taken from the client.
        taken: handed each piece of the client's, and an empty one at its end; gives what of it goes on.
            None ends it all.

    Returns:
        Whether it came to its end without `taken` having ended it.

    Raises:
        OSError: one of the two broke off.
    """
    up, down = _Way(client, server, first_up, taken), _Way(server, client, b"", lambda data: data)
    client.setblocking(False)  # noqa: FBT003 - the standard library's own signature
    server.setblocking(False)  # noqa: FBT003 - as above
    with selectors.DefaultSelector() as selector:
        while not down.is_closed:
            watch(selector, client, reads=not is_one_way and up.wants_read, writes=bool(down.held))
            watch(selector, server, reads=down.wants_read, writes=bool(up.held))
            ready = selector.select(idle_s)
            if not ready:
                return True
            for key, events in ready:
                reads = up if key.fileobj is client else down
                if events & selectors.EVENT_READ and reads.wants_read and not reads.read():
                    return False
            up.write()
            down.write()
    return True


def watch(selector: selectors.BaseSelector, end: socket.socket, *, reads: bool, writes: bool) -> None:
    """Ask to be told when an end can do what is wanted of it, and of nothing else."""
    events = (selectors.EVENT_READ if reads else 0) | (selectors.EVENT_WRITE if writes else 0)
    known = end in selector.get_map()
    if events and known:
        selector.modify(end, events)
    elif events:
        selector.register(end, events)
    elif known:
        selector.unregister(end)
