"""Finds secrets in bytes: known token formats, private keys, passwords in URLs, random-looking assignments.

Pure. What stops a publication, and what no child is handed. No comment in a file can switch it off, no path
is exempt, and a finding never carries the secret: only its rule, place and four hex digits of its hash.
Measured on tests/unit/config/secret_samples.jsonl; ADR 0043.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import hashlib
import math
import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import unquote

from autopilot.schemas.token_formats import TOKEN_FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MIN_ENTROPY_BITS = 3.0
_SHORT = 10  # a shorter password is a word somebody chose, or it has its own rule
_MIXED = 3
_DIGIT = re.compile("[0-9]")
_CLASSES = (re.compile("[a-z]"), re.compile("[A-Z]"), _DIGIT, re.compile(r"[^A-Za-z0-9\s]"))
_ONE_CASE = re.compile(r"[0-9a-z]{16,}|[0-9A-Z]{16,}|[0-9a-f-]{32,}")
_WRAPPED = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/]{40,4000}={0,2}(?![A-Za-z0-9+/=_-])")
_PLACEHOLDER = re.compile(
    r"(?i)\$\{|\$\(|\{\{|^\$|^<|^%|example|sample|placeholder|change[-_]?me|redacted|dummy|"
    r"your[-_]|xxx|0-9|a-z|\*\*\*|\.\.\.|1234567|abcdef0|deadbeef|process\.env|os\.environ|getenv"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A named format. The secret is the pattern's group 1, or the whole match when it has none."""

    name: str
    pattern: re.Pattern[str]
    accepts: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Hit:
    """A secret was found; it is not kept."""

    rule: str
    line: int
    digest: str

    @property
    def mark(self) -> str:
        """Four hex digits that let a person tell two findings apart."""
        return self.digest[:4]


def entropy_bits(text: str) -> float:
    """Give Shannon's entropy per character in bits."""
    counts = Counter(text).values()
    return -math.fsum(count / len(text) * math.log2(count / len(text)) for count in counts) if text else 0.0


def looks_random(text: str) -> bool:
    """Tell whether a value was made by a machine rather than chosen as a word or a reference."""
    if len(text) < _SHORT or _PLACEHOLDER.search(text) or entropy_bits(text) < _MIN_ENTROPY_BITS:
        return False
    is_mixed = sum(bool(kind.search(text)) for kind in _CLASSES) >= _MIXED
    return bool(_DIGIT.search(text)) and (is_mixed or bool(_ONE_CASE.fullmatch(text)))


def _assigned(text: str) -> bool:
    return looks_random(text) and (not text.isalnum() or len(_DIGIT.findall(text)) > 1)


def _in_url(text: str) -> bool:
    return looks_random(unquote(text))


def _not_placeholder(text: str) -> bool:
    return not _PLACEHOLDER.search(text) and entropy_bits(text) >= _MIN_ENTROPY_BITS


def _always(_text: str) -> bool:
    return True


# What its surroundings tell, or what is no token of one issuer.
_BY_SURROUNDINGS: tuple[tuple[str, str, Callable[[str], bool]], ...] = (
    (
        "aws-secret-key",
        r"(?i)aws.{0,24}(?:secret|key).{0,24}?[=:]\s{0,4}[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        _not_placeholder,
    ),
    # Looked for from its first dot on: of a run of letters only one place, not each `eyJ`, is tried.
    (
        "json-web-token",
        r"(?<=[A-Za-z0-9_-]{13})\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}(?![A-Za-z0-9])",
        _not_placeholder,
    ),
    (
        "private-key",
        (
            r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:\\[rn]|[\s\"'+,])*(?:[A-Za-z-]{4,20}: [^\n]{0,200}\n+)*([A-Za-z0-9+/=]{40,})"
        ),
        _always,
    ),
    (
        "password-in-url",
        r"[a-z][a-z0-9+.-]{1,20}://[^\s:/@\"'`<>]{0,100}:([^\s@/:\"'`<>]{6,200})@[A-Za-z0-9_.\[-]",
        _in_url,
    ),
    (
        "http-authorization",
        r"(?i)authorization[\"']?\s{0,4}[:=,]?\s{0,4}[\"']?(?:bearer|basic|token)\s{1,4}([A-Za-z0-9._~+/=-]{16,})",
        looks_random,
    ),
    (
        "netrc-password",
        r"(?i)\bmachine\s{1,20}\S{1,200}\s{1,20}login\s{1,20}\S{1,200}\s{1,20}password\s{1,20}(\S{6,200})",
        looks_random,
    ),
    (
        "registry-auth",
        r"(?i)(?:\"auth\"\s{0,4}:\s{0,4}\"|:_auth(?:token)?\s{0,4}=\s{0,4}\"?)([A-Za-z0-9+/=_-]{20,})",
        looks_random,
    ),
    (
        "assigned-secret",
        (
            r"(?i)(?<![A-Za-z0-9])(?:[A-Za-z0-9]{1,40}[_.-]){0,6}[A-Za-z0-9]{0,20}"
            r"(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)"
            r"(?:[_-]?(?:key|value|str|prod|dev|test|live|s|\d{1,3})){0,3}"
            r"[\"']?\s{0,8}(?:=>|:=|[=:])\s{0,8}"
            r"(?:[bru]?\"([^\"\n\s]{8,500})\"|[bru]?'([^'\n\s]{8,500})'|([A-Za-z0-9+/=_~!#%^&*@-]{12,500})(?=[\s,;]|$))"
        ),
        _assigned,
    ),
)


def rules() -> tuple[Rule, ...]:
    """Give every rule: the table of tokens, and what its surroundings tell.

    Compiled when first asked for, and then kept by `re`: the command line imports this and rarely asks.
    """
    return tuple(
        Rule(name, re.compile(pattern), accepts)
        for name, pattern, accepts in (
            *(
                (each.name, each.strict_pattern, _always if each.is_any_value else _not_placeholder)
                for each in TOKEN_FORMATS
            ),
            *_BY_SURROUNDINGS,
        )
    )


def find(data: bytes) -> tuple[Hit, ...]:
    """Find every secret in a file's bytes, also in UTF-16 and inside one layer of base64.

    Args:
        data: the whole content; a caller keeps its size within reason.
    """
    text = decode(data)
    lines, every = _Lines(text), rules()
    hits = dict.fromkeys(_scan(every, text, lines.of))
    for match in _WRAPPED.finditer(text):
        line = lines.of(match.start())
        hits |= dict.fromkeys(_scan(every, _unwrapped(match.group()), lambda _, line=line: line))  # type: ignore[misc]
    return tuple(hits)


def mask(text: str) -> str:
    """Put three stars in the place of every secret that `find` would find, and leave the rest as it is."""
    every = rules()
    spans = [match.span(group) for _, match, group in _found(every, text)]
    wrapped = _WRAPPED.finditer(text)
    spans += [match.span() for match in wrapped if any(_found(every, _unwrapped(match.group())))]
    parts, last = [], 0
    for start, end in sorted(spans):
        if start >= last:
            parts += [text[last:start], "***"]
        last = max(last, end)
    return "".join((*parts, text[last:]))


class _Lines:
    """Numbers the lines of a text; where they end is looked up once, and not before it is asked."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _ends(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self._text)]

    def of(self, at: int) -> int:
        """Give the number of the line that a character stands in; the first is 1."""
        return bisect_left(self._ends, at) + 1


def decode(data: bytes) -> str:
    """Read bytes as text by their byte order mark, else as UTF-8; many NULs hint at UTF-16 without a mark."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data.decode(encoding, "replace")
    if data.count(0) * 4 > len(data):
        data = data.replace(b"\0", b"")
    return data.decode("utf-8", "replace")


def _scan(every: tuple[Rule, ...], text: str, line_of: Callable[[int], int]) -> Iterator[Hit]:
    for rule, match, group in _found(every, text):
        digest = hashlib.sha256(match.group(group).encode()).hexdigest()[:16]
        yield Hit(rule.name, line_of(match.start()), digest)


def _found(every: tuple[Rule, ...], text: str) -> Iterator[tuple[Rule, re.Match[str], int]]:
    """Give each rule that found something, with the group that is the secret itself."""
    for rule in every:
        for match in rule.pattern.finditer(text):
            group = next((number for number, said in enumerate(match.groups(), 1) if said), 0)
            if rule.accepts(match.group(group)):
                yield rule, match, group


def _unwrapped(text: str) -> str:
    try:
        inner = base64.b64decode(text, validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return inner if inner.isprintable() or "\n" in inner else ""
