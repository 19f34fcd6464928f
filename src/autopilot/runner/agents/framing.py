"""Cuts an agent's byte stream into lines and reads each as JSON, whatever the bytes are.

Must not raise for any input, and must not hold more than one line of `max_line_bytes`. What cannot be read is
counted; the raw bytes are in the run's log of the agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from autopilot.config.journal import read_object
from autopilot.config.plain import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_LINE_BYTES = 16 * 1024 * 1024
_MAX_UNKNOWN, _MAX_TYPE_CHARS = 20, 64
_BOM = b"\xef\xbb\xbf"


class LineFramer:
    """Lines of a stream that comes in pieces. A line beyond the limit is dropped whole and counted."""

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        """Take the longest line to keep, in bytes."""
        self._max_line_bytes = max_line_bytes
        self._parts: list[bytes] = []
        self._size_bytes = 0
        self._is_dropping = False
        self.dropped = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next piece; give the lines that it finished, without their ends."""
        head, *tail = chunk.split(b"\n")
        self._hold(head)
        if not tail:
            return []
        lines = [self._finish()]
        lines += [self._checked(line) for line in tail[:-1]]
        self._hold(tail[-1])
        return [line for line in lines if line is not None]

    def end(self) -> list[bytes]:
        """Give what came after the last newline, if anything did."""
        is_empty = not self._parts and not self._is_dropping
        last = None if is_empty else self._finish()
        return [] if last is None else [last]

    def _hold(self, part: bytes) -> None:
        if self._is_dropping or not part:
            return
        self._size_bytes += len(part)
        if self._size_bytes > self._max_line_bytes:
            self._is_dropping = True
            self._parts.clear()
        else:
            self._parts.append(part)

    def _finish(self) -> bytes | None:
        line = None if self._is_dropping else b"".join(self._parts)
        self.dropped += self._is_dropping
        self._parts.clear()
        self._size_bytes, self._is_dropping = 0, False
        return line

    def _checked(self, line: bytes) -> bytes | None:
        if len(line) <= self._max_line_bytes:
            return line
        self.dropped += 1
        return None


class JsonLines:
    """The JSON objects of a stream, and the text of the lines that are none."""

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        """Take the longest line to keep, in bytes."""
        self._framer = LineFramer(max_line_bytes)
        self.objects = 0
        self.damaged = 0
        self._unknown: set[str] = set()

    @property
    def dropped(self) -> int:
        """How many lines were too long to keep."""
        return self._framer.dropped

    def feed(self, chunk: bytes) -> list[Mapping[str, Any] | str]:
        """Take the next piece; give each finished line as an object, or as text where it is none."""
        return self._read(self._framer.feed(chunk))

    def end(self) -> list[Mapping[str, Any] | str]:
        """Give what came after the last newline, if anything did."""
        return self._read(self._framer.end())

    def note_unknown(self, kind: object) -> None:
        """Remember a type that the reader does not know: clients add some with every release."""
        if len(self._unknown) < _MAX_UNKNOWN:
            name = one_line(kind, max_chars=_MAX_TYPE_CHARS) if isinstance(kind, str) else ""
            self._unknown.add(name or "(no type)")

    def notes(self) -> tuple[str, ...]:
        """Say what could not be read, and what is not known."""
        unread = f"{self.damaged} lines were not JSON and {self.dropped} were too long to read"
        unknown = f"unknown event types: {', '.join(sorted(self._unknown))}"
        is_whole = not self.damaged and not self.dropped
        return (*(() if is_whole else (unread,)), *((unknown,) if self._unknown else ()))

    def _read(self, lines: list[bytes]) -> list[Mapping[str, Any] | str]:
        items: list[Mapping[str, Any] | str] = []
        for raw in lines:
            line = raw.removeprefix(_BOM).replace(b"\0", b"").strip()
            if not line:
                continue
            item = _object(line)
            if item is None:
                self.damaged += 1
                items.append(line.decode("utf-8", "replace"))
            else:
                self.objects += 1
                items.append(item)
        return items


def _object(line: bytes) -> Mapping[str, Any] | None:
    """Read one JSON object: by pydantic's parser, and what that refuses by the more patient one.

    The second takes broken characters, half characters and deep nesting, as far as they can be taken at all.
    """
    if not line.startswith(b"{"):
        return None
    try:
        value: Mapping[str, Any] = from_json(line, cache_strings="keys")
    except ValueError:
        return read_object(line)
    return value
