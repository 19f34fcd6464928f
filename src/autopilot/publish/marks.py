"""The hidden last line of a text of ours: whose it is, and whether a person has changed it since.

Pure. A cleaned text cannot hold such a line (`outbound` breaks `<!--`), so a run cannot forge one.
"""

from __future__ import annotations

import hashlib
import re

MOST_CHARS = 160
_KEY_CHARS = 100
_MARK = re.compile(r"<!-- autopilot:(?P<key>[\w.-]+):(?P<digest>[0-9a-f]{12}) -->\s*\Z")


def marked(text: str, key: str) -> str:
    """Add our mark at the end."""
    plain = _plain(text)
    safe = re.sub(r"-{2,}", "-", re.sub(r"[^\w.-]", "-", key, flags=re.ASCII))[:_KEY_CHARS]
    return f"{plain}\n\n<!-- autopilot:{safe}:{_digest(plain)} -->\n"


def without(text: str) -> str:
    """Give the text before our mark."""
    return _MARK.sub("", text)


def is_untouched(text: str) -> bool:
    """Tell whether we wrote this and nobody has changed it since."""
    plain = text.replace("\r\n", "\n")
    found = _MARK.search(plain)
    return found is not None and found["digest"] == _digest(_plain(without(plain)))


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
