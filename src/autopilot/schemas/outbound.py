"""Text that leaves the machine: what may not be in it, and how it is made harmless.

Pure. Every rule works on the characters as they are, not on a reading of the Markdown: a forge may see a
code block where we see none. Must not decide about secrets nor about length: the publisher does. Stdlib only.
Source: keywords that close issues, https://docs.github.com/en/issues/tracking-your-work-with-issues and
GitLab's default closing pattern; ADR 0044.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.schemas.attribution import CREDIT_LINE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_INVISIBLE = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff"
)
_STANDARDS = "UTF|SHA|MD|AES|RSA|CVE|CWE|GHSA|ISO|RFC|PEP|HTTP|TLS|SSL|IPV|ES|WCAG"  # `UTF-8` is no issue
_REFERENCE = (
    r"(?:[\w.-]{1,100}/[\w.-]{1,100})?#\d+|GH-\d+|"
    rf"(?-i:(?!(?:{_STANDARDS})-)[A-Z][A-Z0-9]{{1,30}}-\d+)|"
    r"https?://\S{1,200}?/(?:issues|pull|merge_requests)/\d+"
)
_CLOSING = (
    r"close[sd]?|closing|fix(?:e[sd]|ing)?|resolve[sd]?|resolving|"
    r"implement(?:s|ed|ing)?|complete[sd]?|completing"
)
_MAX_PASSES = 20


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that may not leave, how it is found, and what stands in its place."""

    name: str
    pattern: str
    """Compiled when it is first looked for."""
    replacement: str | Callable[[re.Match[str]], str]


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The harmless text and one note for each rule that changed it."""

    text: str
    notes: tuple[str, ...]


def _decoded(match: re.Match[str]) -> str:
    char = html.unescape(match.group())
    return char if len(char) == 1 and (char.isprintable() or char == "\n") else ""


RULES = (
    Rule("control, bidi or invisible character", f"[{_INVISIBLE}]", ""),
    Rule(
        "character written as an entity",
        r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|commat|num|colon|sol|NewLine|Tab);?",
        _decoded,
    ),
    Rule("attribution to a machine", CREDIT_LINE, ""),
    Rule(
        "absolute path of this machine",
        (
            r"(?<![\w./:~-])(?:file://)?(?:/(?:home|Users|root|tmp|var/(?:folders|tmp)|private/(?:tmp|var))"
            r"(?:/[^\s'\"`)\]>,;|]*|(?![\w-]))|[A-Za-z]:\\Users\\[^\s'\"`)\]>,;|]*)"
        ),
        "[local path]",
    ),
    Rule(
        "keyword that closes an issue",
        rf"(?i)\b(?:{_CLOSING})\b[*_~`]*+[\s:]*+(?=[*_~`\[(<]*(?:{_REFERENCE}))",
        "Ref: ",
    ),
    Rule("mention of a person or team", r"(?<![A-Za-z0-9_])@(?=[A-Za-z0-9])", "@ "),
    Rule(
        "HTML that hides text",
        r"(?i)<(?=!|\?|/?(?:details|summary|script|style|iframe|textarea|title|template|xmp|plaintext)\b)",
        "< ",
    ),
)
# Tags that end or begin what others stand in, and a footnote, which is shown below all else.
_LEAVING = (
    r"<(?=/?(?:blockquote|ul|ol|li|dl|dt|dd|table|thead|tbody|tfoot|caption|tr|td|th|h[1-6]|hr|body|html)\b)"
    r"|\[(?=\^[^\]\s]{1,100}\]:)"
)
# What a page loads as soon as somebody looks at it: the address tells its owner what the run put into it.
_LOADED = r"<(?=(?:img|image|picture|source|video|audio|embed|object)\b)|!(?=\[)"


def clean(text: str, *, roots: Iterable[str] = ()) -> Cleaned:
    """Make text harmless.

    Args:
        text: anything; line ends of any kind become real newlines.
        roots: folders of ours whose paths must not show, besides the usual private places.

    Returns:
        Text in which no rule finds anything any more.
    """
    plain = re.sub(r"\r\n?|[\u2028\u2029\x85]", "\n", text)
    rules = (*_root_rules(roots), *RULES)
    counts: dict[str, int] = {}
    for _ in range(_MAX_PASSES):  # one rule's work may bring out what another looks for
        before = plain
        for rule in rules:
            plain, count = re.subn(rule.pattern, rule.replacement, plain)
            counts[rule.name] = counts.get(rule.name, 0) + count
        if plain == before:
            break
    return Cleaned(plain, tuple(f"{name}: {count}" for name, count in counts.items() if count))


def contained(text: str) -> str:
    """Keep clean text in the quotation, list or cell that it is put into; an image in it becomes a link."""
    return re.sub(rf"(?i){_LEAVING}|{_LOADED}", r"\g<0> ", text)


def clean_line(text: str, *, roots: Iterable[str] = ()) -> str:
    """Make text harmless and one line."""
    return " ".join(clean(text, roots=roots).text.split())


def faults(text: str, *, roots: Iterable[str] = ()) -> tuple[str, ...]:
    """Name each rule that text breaks; for text that cannot be changed any more."""
    return tuple(rule.name for rule in (*_root_rules(roots), *RULES) if re.search(rule.pattern, text))


def _root_rules(roots: Iterable[str]) -> tuple[Rule, ...]:
    longest_first = sorted({root.rstrip("/") for root in roots} - {""}, key=len, reverse=True)
    return tuple(
        Rule(
            "absolute path of this machine",
            rf"(?<![\w.-]){re.escape(root)}(?:/[^\s'\"`)\]>,;|]*|(?![\w-]))",
            "[local path]",
        )
        for root in longest_first
    )
