"""TLS to the model's service, over a socket that somebody else reads and writes.

Must not accept a certificate that this machine would not.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

_PIECE_BYTES = 64 * 1024


class Tls:
    """One connection, after its handshake."""

    def __init__(self, line: socket.socket, host: str) -> None:
        """Shake hands.

        Args:
            line: connected, and with a timeout.
            host: whose certificate it must be.

        Raises:
            OSError: it is not, or nobody is there.
        """
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        # Some releases set it (3.11.2 is one), and take what was broken off for whole.
        context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.has_ended = False
        self._tls = context.wrap_bio(self._in, self._out, server_hostname=host)
        while not self._has_shaken():
            line.sendall(self._out.read())
            if data := line.recv(_PIECE_BYTES):
                self._in.write(data)
            else:
                self._in.write_eof()
        line.sendall(self._out.read())

    def seal(self, data: bytes) -> bytes:
        """Give what goes over the wire; that may be an answer to what came."""
        if data:
            self._tls.write(data)
        return self._out.read()

    def open(self, data: bytes) -> bytes:
        """Give what came over the wire; `has_ended` tells then whether that was all, and said to be.

        Raises:
            OSError: it was broken off, or spoiled.
        """
        if data:
            self._in.write(data)
        else:
            self._in.write_eof()
        opened = []
        try:
            while piece := self._tls.read(_PIECE_BYTES):
                opened.append(piece)
        except ssl.SSLWantReadError:
            return b"".join(opened)
        self.has_ended = True
        return b"".join(opened)

    def _has_shaken(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True
