"""The sockets that are open just now, so that all can be cut at once.

Must not close a socket: who serves it does, once it is cut.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Ends:
    """A set of sockets; once cut, what is added later is cut at once."""

    def __init__(self) -> None:
        """Start with none."""
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._is_cut = False

    @contextlib.contextmanager
    def kept(self, end: socket.socket) -> Iterator[None]:
        """Keep a socket inside the block, and close it behind it."""
        with end:
            with self._lock:
                self._open.add(end)
                if self._is_cut:
                    _hang_up(end)
            try:
                yield
            finally:
                with self._lock:
                    self._open.discard(end)

    def hang_up(self) -> None:
        """Cut them all: whoever waits on one of them hears of it."""
        with self._lock:
            self._is_cut = True
            for end in self._open:
                _hang_up(end)


def _hang_up(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
