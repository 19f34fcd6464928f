"""Fences text that others wrote, so that a prompt shows it as data and shows all of it.

Must not judge the text. Nothing is dropped: what could close the fence or hide from a reader is made visible
and counted.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from dataclasses import dataclass

from autopilot.schemas.hidden import hidden_parts, show_hidden

_NONCE_BYTES = 16
# Letters of other scripts that look like those of our tag's name, and what else may stand in its place.
_LOOKS_LIKE = str.maketrans(
    "\u0430\u03b1\u0251\u0501\u0435\u03b5\u0454\u0578\u043f\u0433\u0455\u0442\u03c4\u0443\u03c5\u057d\u028b"
    "\u2039\u276c\u3008\u27e8\u02c2\u1438\u226e\u2044\u2215\u29f8\u2571\u2010\u2011\u2012\u2013\u2014\u2015\u2212",
    "aaadeeennrsttuuuu" + "<" * 7 + "////" + "-" * 7,
)
# Our own tag, opened or closed, in any way of writing its bracket.
_TAG_LOOK_ALIKE = re.compile(
    r"(?:<|&(?:lt|#0*60|#x0*3c);?|\\u003c|\\x3c|%3c|&(?=[\s/]*untrusted))"
    r"(?=(?:[\s/\\]|&sol;|&#0*47;|&#x0*2f;|%2f)*untrusted[\s\-_]*data)"
)


@dataclass(frozen=True, slots=True)
class Fenced:
    """A fenced text; how many characters and tags were made visible in it; parts that no page shows."""

    text: str
    escaped: int
    unseen: int = 0


def new_nonce() -> str:
    """Make the 128 random bits that only this prompt's fences carry."""
    return secrets.token_hex(_NONCE_BYTES)


def fence(text: str, *, source: str, nonce: str) -> Fenced:
    """Put a text between an opening and a closing tag that it cannot have known.

    Args:
        text: what somebody else wrote.
        source: what it is, in our words, e.g. `ticket`.
        nonce: from `new_nonce`, fresh for each prompt.
    """
    plain = text.replace("\r\n", "\n")
    shown, tags = _without_tags(plain)
    shown, nonces = re.subn(re.escape(nonce), "(nonce)", shown, flags=re.IGNORECASE)
    visible = show_hidden(shown)
    opening = f'<untrusted-data source="{source}" nonce="{nonce}">'
    fenced = f"{opening}\n{visible.text}\n</untrusted-data {nonce}>"
    return Fenced(fenced, tags + nonces + visible.count, sum(hidden_parts(plain).values()))


def _without_tags(text: str) -> tuple[str, int]:
    """Break the bracket of whatever a model could take for our own tag."""
    parts, last, count = [], 0, 0
    for found in _TAG_LOOK_ALIKE.finditer("".join(map(_letter, text)).translate(_LOOKS_LIKE)):
        parts += [text[last : found.start()], "(&lt;)"]
        last, count = found.end(), count + 1
    return "".join((*parts, text[last:])), count


def _letter(char: str) -> str:
    """Give the plain lower-case letter that a character is a form of, and never more than one."""
    if char.isascii():
        return char.lower()
    folded = unicodedata.normalize("NFKC", char).lower()
    return folded if len(folded) == 1 else char
