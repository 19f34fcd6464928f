"""Foreign bytes made fit to be shown: in a log, on a terminal, in a digest."""

from __future__ import annotations

import re
import unicodedata

from autopilot.config.tokens import redact

# CSI and OSC sequences, then any other escape. Source: ECMA-48 sections 5.4 and 8.3; xterm's OSC.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P^_X].*?(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]?", re.DOTALL)
_KEPT = "\n\t"


def plain(raw: bytes | str, *, max_chars: int = 4000) -> str:
    """Turn what a program printed into text without credentials and without power over a terminal.

    Args:
        raw: any bytes; those that are no UTF-8 become U+FFFD.
        max_chars: how much of the end to keep.

    Returns:
        The end of the text. Control, direction and tag characters are gone, all but newline and tab.
    """
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    kept = "".join(char for char in text if char in _KEPT or unicodedata.category(char)[0] != "C")
    shown = redact(kept).strip("\n")
    return shown if len(shown) <= max_chars else f"… {shown[-max_chars:]}"


def one_line(raw: bytes | str, *, max_chars: int = 300) -> str:
    """Do the same for a place that holds one line only."""
    return plain(" ".join(plain(raw, max_chars=max_chars * 8).split()), max_chars=max_chars)
