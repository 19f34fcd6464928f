"""The bytes of an answer: one JSON object. What is long comes to it piece by piece.

Must not touch sockets, and must not know what an answer means.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def content_of(body: Mapping[str, Any]) -> bytearray:
    """Write it as `json.dumps` would.

    Args:
        body: a value of it that is an iterator becomes an array, and never stands in memory but as bytes. All
            of it is read here: nobody who is slow to take the answer keeps a transaction open.
    """
    content = bytearray(b"{")
    for number, (name, value) in enumerate(body.items()):
        content += _comma(number) + json.dumps(name).encode() + b": "
        if isinstance(value, Iterator):
            _add_array(content, value)
        else:
            content += json.dumps(value).encode()
    content += b"}"
    return content


def _add_array(content: bytearray, pieces: Iterable[Any]) -> None:
    content += b"["
    for number, piece in enumerate(pieces):
        content += _comma(number) + json.dumps(piece).encode()
    content += b"]"


def _comma(number: int) -> bytes:
    return b", " if number else b""
