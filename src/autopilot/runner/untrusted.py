"""Fences text that others wrote, so that a prompt shows it as data and shows all of it.

Must not judge the text. Nothing is dropped: what could close the fence or hide from a reader is made visible
and counted.
"""

from __future__ import annotations

import html
import re
import secrets
import sys
import unicodedata
from dataclasses import dataclass

from autopilot.schemas.hidden import hidden_parts, show_hidden

_NONCE_BYTES = 16
_NAME = "untrusteddata"
# What a client may read as one character: entities, also escaped twice, and the escapes of JSON, C, URLs and
# terminals.
_WRITTEN = re.compile(
    r"&(?:amp;)*(?:#[0-9]{1,9}|#[xX][0-9a-fA-F]{1,8}|[lL][tT](?=[^a-zA-Z0-9]|$|u)|[A-Za-z][A-Za-z0-9]{1,30}(?=;));?"
    r"|\\u\{?[0-9a-fA-F]{1,6}\}?|\\x[0-9a-fA-F]{2}|\\[0-7]{2,3}|%(?:25)*[0-9a-fA-F]{2}"
    r"|\x1b\[[0-?]*[ -/]*[@-~]|.",
    re.DOTALL,
)
# Letters of other scripts that look like those of our tag's name, and what looks like its bracket.
_LOOKS_LIKE = str.maketrans(
    "\u0430\u03b1\u0251\u0250\u1d00\ua4ee\u13aa"
    "\u0501\u217e\u1d05\ua4d3\u13a0\u0256"
    "\u0435\u03b5\u0454\u1d07\u0258\u01dd\u0259\ua4f0\u13ac\u212e"
    "\u0578\u043f\u0274\u039d\ua4e0\u03b7\u019e"
    "\u0433\u1d26\u0280\ua4e3\u13a1\u027e"
    "\u0455\u01bd\ua731\ua4e2\u13da"
    "\u0442\u03c4\u1d1b\ua4d4\u13a2\u0163"
    "\u0443\u03c5\u057d\u028b\u1d1c\u054d\ua4f4\u222a\u22c3\u057c"
    "\u2039\u276c\u276e\u2770\u3008\u27e8\u2329\u02c2\u1438\u227a\u22d6\u29fc\u00ab\u226a\u27ea\u300a\u2aa1&",
    "a" * 7 + "d" * 6 + "e" * 10 + "n" * 7 + "r" * 6 + "s" * 5 + "t" * 6 + "u" * 10 + "<" * 18,
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
    """Break the bracket of whatever a model could take for our own tag.

    The text is looked at by its letters and brackets alone: what stands between them, or how they are
    written, makes no other tag of it.
    """
    skeleton, places = _skeleton(text)
    parts, last, count = [], 0, 0
    for found in re.finditer(f"<(?={_NAME})", skeleton):
        start, end = places[found.start()]
        if start >= last:
            parts += [text[last:start], "(less than)"]
            last, count = end, count + 1
    return "".join((*parts, text[last:])), count


def _skeleton(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Give the letters of our tag's name and the brackets of a text, and where each of them stands."""
    if text.isascii() and "<" not in text and "&" not in text and "\\" not in text and "%" not in text:
        return "", []
    kept: list[str] = []
    places: list[tuple[int, int]] = []
    known: dict[str, str] = {}
    for found in _WRITTEN.finditer(text):
        written = found.group()
        if written not in known:
            known[written] = "".join(map(_letter, _read(written)))
        for char in known[written]:
            if char == "<" or ("a" <= char <= "z"):
                kept.append(char)
                places.append(found.span())
    return "".join(kept), places


def _read(written: str) -> str:
    """Give the character that an escape stands for; anything else as it is."""
    if len(written) == 1:
        return written
    if written[0] == "\x1b":
        return ""
    if written[0] == "&":
        plain = written.replace("amp;", "")
        return html.unescape(plain if plain.endswith(";") else f"{plain};")
    digits = written[1:].lstrip("ux{").rstrip("}") if written[0] == "\\" else written[-2:]
    base = 16 if written[0] == "%" or written[1] in "ux" else 8
    number = int(digits, base)
    return chr(number) if number <= sys.maxunicode else ""


def _letter(char: str) -> str:
    """Give the plain lower-case letter that a character is, or looks like; empty: it has no look."""
    plain = char.translate(_LOOKS_LIKE)
    if plain == char and not char.isascii():
        plain = unicodedata.normalize("NFKD", char)[:1].translate(_LOOKS_LIKE)
        plain = plain.lower().translate(_LOOKS_LIKE)
    return plain.lower() if unicodedata.category(char)[0] not in "MC" else ""
