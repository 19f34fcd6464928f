"""Takes credentials out of a stream of bytes on its way into a log, also those that two pieces share.

Must not change anything else: what reads the stream reads JSON. What could be the beginning of a credential
is held back until more comes, and never more than a little.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from autopilot.config import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MIN_SECRET_CHARS = 8
MAX_HELD_BYTES = 16 * 1024
_STARS = b"***"
_BEGINNINGS = tuple(beginning.encode("ascii") for beginning in tokens.BEGINNINGS)
# Every token has a run like this in it, with its beginning in it or not far before.
_RUN = re.compile(rb"[A-Za-z0-9_+/=-]{15,}+")
_MOST_BEFORE_RUN = 48
_LOGIN = re.compile(tokens.LOGIN.encode("ascii"))
_KEY = b"-----BEGIN "
_KEY_END = re.compile(rb"-----END[^-]*-----")
_ENDS_A_KEY = re.compile(rb"-----END[^-]*-----\Z")
_URL = b"://"
_WEB_TOKEN = b"eyJ"
_REST_OF_WEB_TOKEN = re.compile(rb"\.(?=(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*))")
_LEAST_HEADER = 11
_OF_A_WEB_TOKEN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_OF_A_TOKEN = _OF_A_WEB_TOKEN + b".=+/:"
_OPEN_URL = re.compile(rb"[^/@\s\"\\<>{}|^`]*\Z")


class Redactor:
    """One stream's; `secrets` are values that must not be seen whatever they look like."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Learn the values, as they are and as JSON and addresses write them."""
        known = {way for secret in secrets if len(secret) >= MIN_SECRET_CHARS for way in ways_of(secret)}
        self._known = sorted(known, key=len, reverse=True)
        self._beginnings = (*self._known, *_BEGINNINGS, _KEY, _URL)
        self._held = self._last = b""

    def feed(self, piece: bytes) -> bytes:
        """Take the next piece and give what may be written now."""
        data = self._without_known(self._held + piece)
        start = self._open_from(data)
        self._held = data[start:]
        return self._without_forms(data[:start])

    def end(self) -> bytes:
        """Give what was held back, when nothing more comes."""
        rest, self._held = self._held, b""
        return self._without_forms(rest)

    def _without_known(self, data: bytes) -> bytes:
        for secret in self._known:
            data = data.replace(secret, _STARS)
        return data

    def _open_from(self, data: bytes) -> int:
        """Say from where on the end of this could be a credential that has not come to its end."""
        size, first = len(data), max(0, len(data) - MAX_HELD_BYTES)
        run = max(first, len(data.rstrip(_OF_A_TOKEN)))
        start = min(
            _open_key(data, first),
            _open_login(data, first),
            # The first in the run: a token may hold the beginning of another, as a JSON web token does.
            *(at for beginning in _BEGINNINGS if (at := data.find(beginning, run)) >= 0),
            *(size - _shared(data, beginning) for beginning in self._beginnings),
        )
        return size if start > run and _ENDS_A_KEY.search(data, first) else max(first, start)

    def _without_forms(self, data: bytes) -> bytes:
        """Take out what looks like a credential; whether one begins depends on the byte before it."""
        last, self._last = self._last, data[-1:] or self._last
        whole = last + data
        spans = sorted(_found(whole))
        return _cut_out(whole, spans)[len(last) :] if spans else data


def _found(data: bytes) -> Iterator[tuple[int, int]]:
    """Find what looks like a credential. Each form is looked for where one of its beginnings stands only."""
    yield from _web_tokens(data)
    yield from _beginning_with(_KEY, data, 0, len(data))
    for run in _RUN.finditer(data):
        first = max(0, run.start() - _MOST_BEFORE_RUN)
        for beginning in _BEGINNINGS:
            if beginning != _WEB_TOKEN:
                yield from _beginning_with(beginning, data, first, run.end())
    at = data.find(_URL)
    while at >= 0:
        if match := _LOGIN.match(data, at + len(_URL)):
            yield match.span()
        at = data.find(_URL, at + len(_URL))


def _beginning_with(beginning: bytes, data: bytes, first: int, end: int) -> Iterator[tuple[int, int]]:
    at = data.find(beginning, first, end)
    while at >= 0:
        if match := _value_form().match(data, at):
            yield match.span()
        at = data.find(beginning, match.end() if match else at + 1, end)


def _value_form() -> re.Pattern[bytes]:
    return re.compile(tokens.VALUE_PATTERN.encode("ascii"), tokens.VALUE_FLAGS)


def _web_tokens(data: bytes) -> Iterator[tuple[int, int]]:
    """Find JSON web tokens from their middle: tried from each beginning of a run, they cost its square."""
    last = 0
    for match in _REST_OF_WEB_TOKEN.finditer(data):
        before = data[last : match.start()]
        header = len(before.rstrip(_OF_A_WEB_TOKEN))
        at = before.find(_WEB_TOKEN, header)
        if at >= 0 and len(before) - at >= _LEAST_HEADER:
            yield last + at, match.end(1)
        last = match.start() + 1


def _cut_out(data: bytes, spans: list[tuple[int, int]]) -> bytes:
    parts, last = [], 0
    for start, end in spans:
        if start >= last:
            parts += [data[last:start], _STARS]
        last = max(last, end)
    return b"".join((*parts, data[last:]))


def ways_of(secret: str) -> set[bytes]:
    """Write a value as it is, as a JSON text holds it, and as an address does."""
    written = (
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(secret, ""),
    )
    return {way.encode("utf-8", "surrogatepass") for way in written}


def _shared(data: bytes, beginning: bytes) -> int:
    """Measure how much of a beginning the data ends with, if not all of it."""
    longest = min(len(beginning) - 1, len(data))
    return next((size for size in range(longest, 0, -1) if data.endswith(beginning[:size])), 0)


def _open_key(data: bytes, first: int) -> int:
    """Find the first private key that has not come to its end."""
    at = data.find(_KEY, first)
    while at >= 0 and (end := _KEY_END.search(data, at)):
        at = data.find(_KEY, end.end())
    return at if at >= 0 else len(data)


def _open_login(data: bytes, first: int) -> int:
    """Find the last address of which all that has come could be who it is opened as."""
    at = data.rfind(_URL, first)
    return at if at >= 0 and _OPEN_URL.match(data, at + len(_URL)) else len(data)
