"""Fits a text of sections into a forge's limit.

Pure. What matters most is kept first; a cut falls between lines where it can, never inside a character and
never inside an open code fence.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

# GitHub refuses more than 65,536; some forges count UTF-16 units, so that is what we count (ADR 0044).
MAX_BODY_CHARS = 60_000
_NOTE = "\n\n*Cut here: {left} more characters; the whole record stays with the run.*"
_NOTE_CHARS = 100
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its text. The lower `rank`, the later it is cut."""

    heading: str
    text: str
    rank: int


def length(text: str) -> int:
    """Count UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def fit(sections: tuple[Section, ...], *, limit: int = MAX_BODY_CHARS) -> str:
    """Join sections in their order; when they are too long, cut those of the highest rank first.

    Args:
        sections: in the order in which they are shown.
        limit: most UTF-16 code units of the whole.
    """
    left = limit
    kept: dict[int, str] = {}
    for index in sorted(range(len(sections)), key=lambda each: sections[each].rank):
        section = sections[index]
        head = f"## {section.heading}\n\n"
        text = shorten(close_fence(section.text.strip("\n")), max(0, left - length(head) - 2))
        if text:
            kept[index] = head + text
            left -= length(kept[index]) + 2
    return "\n\n".join(kept[index] for index in sorted(kept))


def shorten(text: str, limit: int) -> str:
    """Cut text to a limit in UTF-16 code units, with a note; empty when not even that would fit."""
    if length(text) <= limit:
        return text
    room = limit - _NOTE_CHARS
    if room <= 0:
        return ""
    kept = _at_line(_first(text, room))
    while (closed := close_fence(kept)) and length(closed) > room:
        kept = kept[: len(kept) - (length(closed) - room)]
        kept = _at_line(kept)
    return closed.rstrip() + _NOTE.format(left=f"{len(text) - len(kept):,}")


def close_fence(text: str) -> str:
    """Close a code fence that text leaves open, so that what follows it is not swallowed."""
    fence = open_fence(text)
    return f"{text.rstrip()}\n{fence}" if fence else text


def open_fence(text: str) -> str | None:
    """Give the fence that is still open at the end of text. Source: CommonMark 0.31, fenced code blocks."""
    fence: str | None = None
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if match is None:
            continue
        marks, rest = match.groups()
        if fence is None:
            fence = None if marks[0] == "`" and "`" in rest else marks
        elif marks[0] == fence[0] and len(marks) >= len(fence) and not rest.strip():
            fence = None
    return fence


def _first(text: str, units: int) -> str:
    kept = text.encode("utf-16-le", "surrogatepass")[: units * 2].decode("utf-16-le", "ignore")
    while kept and len(kept) < len(text) and unicodedata.combining(text[len(kept)]):
        kept = kept[:-1]
    return kept


def _at_line(text: str) -> str:
    line_end = text.rfind("\n")
    return text[:line_end] if line_end > len(text) // 2 else text
