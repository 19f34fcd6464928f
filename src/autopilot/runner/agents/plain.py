"""Turns bytes and text of another program into text that a terminal, a log and a digest can show.

Must not lose a line: what cannot be shown is replaced.
"""

from __future__ import annotations

import re

# CSI, OSC (to BEL or ST), other two-character escapes. Source: ECMA-48, xterm's ctlseqs.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_]|[ -/]+[0-~])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
_MAX_TAIL_CHARS = 2000


def plain_text(raw: bytes | str) -> str:
    """Decode what is no UTF-8 with marks, and drop terminal escapes, control and direction characters."""
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    return _CONTROLS.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n")))


def plain_tail(raw: bytes | str, *, max_chars: int = _MAX_TAIL_CHARS) -> str:
    """Give the readable end of an output, at most `max_chars` long."""
    text = plain_text(raw).strip()
    return text if len(text) <= max_chars else "…" + text[1 - max_chars :]


def one_line(raw: bytes | str, *, max_chars: int = 300) -> str:
    """Give the same in one line, for a message."""
    return plain_tail(" ".join(plain_text(raw).split()), max_chars=max_chars)
