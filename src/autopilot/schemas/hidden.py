"""What a text holds that its readers do not see: characters without a look, and parts that a page leaves out.

Pure. Must not drop anything: characters are shown by their numbers, parts are counted and left as they are.
Stdlib only. Source: Unicode 15.1, DerivedCoreProperties (Default_Ignorable_Code_Point) and UTS 51 (emoji
joined by U+200D); CommonMark 0.31, 4.6 and 4.7.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

# C0 and C1 without tab and newline, direction marks and overrides, blanks and fillers without a width, tag
# characters and variation selectors: whole texts can be hidden in the last two.
_ALWAYS = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff"
)
_JOINERS = "\u200c\u200d"
_LOOKS = "\ufe0e\ufe0f"
_HIDDEN = re.compile(f"[{_ALWAYS}{_JOINERS}{_LOOKS}]")
_KEYCAPS = "0123456789#*"
_MODIFIERS = range(0x1F3FB, 0x1F400)  # skin tones
# Scripts in which a joiner changes how a word is written, by the first word of their characters' names.
_JOINING = frozenset(
    {
        *("ARABIC", "SYRIAC", "MANDAIC", "NKO", "MONGOLIAN", "DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI"),
        *("ORIYA", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA", "KHMER", "MYANMAR", "TIBETAN"),
    }
)
_PARTS = (
    ("comment", re.compile(r"<[!?]")),
    (
        "element",
        re.compile(
            # `List<Source>` is a type; a tag is not written so.
            r"<(?:(?<!\w<)|(?-i:(?=[a-z]+\b|[A-Z]+\b)))"
            r"(?:picture|source|template|noscript|details|script|style|iframe|object|embed|textarea|title|svg"
            r"|math|xmp|plaintext|noembed|noframes|dialog|datalist|audio|video|canvas|head|link|meta)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "style",
        re.compile(
            r"<[a-z][^<>]{0,4000}?\s(?:hidden\b|aria-hidden\b|(?:width|height)\s*=\s*[\"']?[01]\b|style\s*=[^<>]{0,4000}?"
            r"(?:display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0|font-size\s*:\s*[01]\b|transparent"
            r"|position\s*:\s*(?:absolute|fixed)|text-indent\s*:\s*-|clip))",
            re.IGNORECASE,
        ),
    ),
    # A definition of a link is never shown. One that leads nowhere, or has a title, is made to hold a text.
    (
        "link definition",
        re.compile(r"(?m)^ {0,3}\[[^\]\n]{1,999}\]:[ \t]*(?:#|<>|\S{1,2000}[ \t]+[\"'(])"),
    ),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A text in which nothing hides, and how many characters had to be shown by their numbers."""

    text: str
    count: int


def show_hidden(text: str) -> Shown:
    """Write every character that hides by its number; joiners and emoji selectors stay where they belong."""
    parts, last, count = [], 0, 0
    for found in _HIDDEN.finditer(text):
        at = found.start()
        if _belongs(text, at):
            continue
        parts += [text[last:at], f"\\u{{{ord(text[at]):x}}}"]
        last, count = at + 1, count + 1
    return Shown("".join((*parts, text[last:])), count)


def hidden_parts(text: str) -> dict[str, int]:
    """Count, by kind, what a page made from this text would not show to its readers."""
    counts: Counter[str] = Counter()
    for kind, pattern in _PARTS:
        counts[kind] += sum(1 for _ in pattern.finditer(text))
    return {kind: count for kind, count in counts.items() if count}


def unseen_in(text: str) -> dict[str, int]:
    """Count all that a reader of this text may not see, characters among them."""
    count = show_hidden(text).count
    return {**({"character": count} if count else {}), **hidden_parts(text)}


def _belongs(text: str, at: int) -> bool:
    """Tell whether a joiner or a selector does what it is for, between these two neighbours."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if text[at] in _LOOKS:
        return before in _KEYCAPS if before.isascii() else unicodedata.category(before)[0] == "S"
    if text[at] == "\u200d" and _is_picture(after):
        return _is_picture(before) or before == "\ufe0f" or (bool(before) and ord(before) in _MODIFIERS)
    return (
        text[at] in _JOINERS and _is_joining(before) and (not after or _is_joining(after) or after.isspace())
    )


def _is_picture(char: str) -> bool:
    return bool(char) and not char.isascii() and unicodedata.category(char) == "So"


def _is_joining(char: str) -> bool:
    return bool(char) and unicodedata.name(char, "").partition(" ")[0] in _JOINING
