"""Fences text that others wrote, so that a prompt shows it as data and shows all of it.

Must not judge the text. Nothing is dropped: what could close the fence or hide from a reader is made visible
and counted.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

_NONCE_BYTES = 16
# Whatever a model could take for our own tag: any bracket that looks like `<`, blanks and dashes in between.
_TAG_LOOK_ALIKE = re.compile(
    r"[<\uff1c\ufe64\u2039\u276c\u3008\u27e8&](?:lt;)?"
    r"(?=[\s/\\]*untrusted[\s\-_\u2010-\u2015\u2212\ufe58\ufe63\uff0d]*data)",
    re.IGNORECASE,
)
# C0 and C1 without tab and newline, direction marks and overrides, invisible blanks that no script needs, and
# the planes of tag characters and variation selectors that whole texts can be hidden in.
_HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True, slots=True)
class Fenced:
    """A fenced text, and how many characters and tags had to be made visible."""

    text: str
    escaped: int


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
    shown, tags = _TAG_LOOK_ALIKE.subn(r"(&lt;)", text.replace("\r\n", "\n"))
    shown, nonces = re.subn(re.escape(nonce), "(nonce)", shown, flags=re.IGNORECASE)
    shown, hidden = _HIDDEN.subn(lambda match: f"\\u{{{ord(match.group()):x}}}", shown)
    opening = f'<untrusted-data source="{source}" nonce="{nonce}">'
    return Fenced(f"{opening}\n{shown}\n</untrusted-data {nonce}>", tags + nonces + hidden)
