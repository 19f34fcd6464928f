"""The first message of real TLS clients, without a connection."""

from __future__ import annotations

import ssl
import struct


def client_hello(name: str | None) -> bytes:
    """What Python's own client sends first when it wants this server; None: it names none."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()
    raise AssertionError("a handshake ended without a server")


def in_records(hello: bytes, size: int) -> bytes:
    """The same message cut into records of so many bytes."""
    body = hello[5:]
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(hello[:3] + struct.pack(">H", len(part)) + part for part in parts)
