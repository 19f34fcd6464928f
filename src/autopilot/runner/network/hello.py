"""Reads the server's name out of the first bytes of a TLS connection, without taking part in it.

Pure. Must not accept what it does not understand. Source: RFC 8446, 4.1.2 and 5.1; RFC 6066, 3.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_HELLO_BYTES = 64 * 1024
_HANDSHAKE, _CLIENT_HELLO, _HOST_NAME, _SERVER_NAME = 22, 1, 0, 0
_RECORD_HEAD, _MESSAGE_HEAD, _MAX_RECORD = 5, 4, 2**14 + 256
_VERSION_AND_RANDOM = 2 + 32


class NoHelloError(ValueError):
    """The bytes are not the beginning of a TLS connection, or name no one server."""


@dataclass(frozen=True, slots=True)
class _Cursor:
    """The rest of some bytes; each step gives a part and what is behind it."""

    data: bytes

    def take(self, size: int) -> tuple[bytes, _Cursor]:
        if len(self.data) < size:
            raise NoHelloError("the client's first message is shorter than it says")
        return self.data[:size], _Cursor(self.data[size:])

    def vector(self, length_bytes: int) -> tuple[bytes, _Cursor]:
        """Take a part that says its length first."""
        head, rest = self.take(length_bytes)
        return rest.take(int.from_bytes(head))


def server_name(data: bytes) -> str | None:
    """Give the one name that a client's first message asks for, lower-case; None: more bytes are needed.

    Raises:
        NoHelloError: this is no such message, or it names no server, or more than one.
    """
    message = _message(data)
    if message is None:
        return None
    names = [name for kind, body in _extensions(message) if kind == _SERVER_NAME for name in _names(body)]
    if len(names) != 1:
        raise NoHelloError("the client names no server, or more than one")
    try:
        return names[0].decode("ascii").lower()
    except UnicodeDecodeError as exc:
        raise NoHelloError("the name of the server is no ASCII") from exc


def _message(data: bytes) -> bytes | None:
    """Put the handshake message together out of its records; None: they are not all here."""
    message, rest = b"", data
    while (body := _body(message)) is None:
        if (rest and rest[0] != _HANDSHAKE) or rest[1:2] not in {b"", b"\x03"}:
            raise NoHelloError("the connection does not begin as TLS does")
        size = int.from_bytes(rest[3:_RECORD_HEAD])
        if size > _MAX_RECORD or len(data) > MAX_HELLO_BYTES:
            raise NoHelloError("the client's first message is too long")
        if len(rest) < _RECORD_HEAD or len(rest) < _RECORD_HEAD + size:
            return None
        if size == 0:
            raise NoHelloError("a record of the first message is empty")
        message, rest = message + rest[_RECORD_HEAD : _RECORD_HEAD + size], rest[_RECORD_HEAD + size :]
    return body


def _body(message: bytes) -> bytes | None:
    """Give what a whole handshake message holds behind its type and length."""
    if message and message[0] != _CLIENT_HELLO:
        raise NoHelloError("the first message is not a client's")
    end = _MESSAGE_HEAD + int.from_bytes(message[1:_MESSAGE_HEAD])
    return message[_MESSAGE_HEAD:end] if len(message) >= max(end, _MESSAGE_HEAD + 1) else None


def _extensions(message: bytes) -> list[tuple[int, bytes]]:
    _, rest = _Cursor(message).take(_VERSION_AND_RANDOM)
    for length_bytes in (1, 2, 1):  # session id, cipher suites, compression methods
        _, rest = rest.vector(length_bytes)
    if not rest.data:
        return []
    body, _ = rest.vector(2)
    found, rest = [], _Cursor(body)
    while rest.data:
        kind, rest = rest.take(2)
        value, rest = rest.vector(2)
        found.append((int.from_bytes(kind), value))
    return found


def _names(extension: bytes) -> list[bytes]:
    body, _ = _Cursor(extension).vector(2)
    found, rest = [], _Cursor(body)
    while rest.data:
        kind, rest = rest.take(1)
        name, rest = rest.vector(2)
        if kind[0] == _HOST_NAME:
            found.append(name)
    return found
