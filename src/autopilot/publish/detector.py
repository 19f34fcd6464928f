"""Finds secrets in bytes: known token formats, private keys, passwords in URLs, random-looking assignments.

Pure. No comment in a file can switch it off, no path is exempt, and a finding never carries the secret: only
its rule, its place and four hex digits of its hash. A full scanner joins later; this one never goes away.
Measured on tests/unit/publish/secret_samples.jsonl; ADR 0043.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import hashlib
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

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


_EDGE = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9])"


def _format(name: str, pattern: str, accepts: Callable[[str], bool] = _not_placeholder) -> Rule:
    return Rule(name, re.compile(_EDGE + pattern + _END), accepts)


RULES = (
    _format("aws-access-key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    Rule(
        "aws-secret-key",
        re.compile(
            r"(?i)aws.{0,24}(?:secret|key).{0,24}?[=:]\s{0,4}[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
        ),
        _not_placeholder,
    ),
    _format("github-token", r"gh[pousr]_[A-Za-z0-9]{36,251}"),
    _format("github-token", r"github_pat_[A-Za-z0-9_]{60,}"),
    _format("gitlab-token", r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas|imt)-[A-Za-z0-9_=-]{20,}"),
    _format("slack-token", r"xox[abeoprs]-[A-Za-z0-9-]{20,}|xapp-\d-[A-Za-z0-9-]{20,}"),
    _format("slack-webhook", r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/]{30,}"),
    _format("discord-webhook", r"discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]{40,}"),
    _format("discord-token", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    _format("stripe-key", r"[rs]k_(?:live|prod)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}"),
    _format("google-key", r"AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{30,}"),
    _format("sendgrid-key", r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    _format("twilio-key", r"SK[0-9a-f]{32}"),
    _format("mailgun-key", r"key-[0-9a-f]{32}"),
    _format("npm-token", r"npm_[A-Za-z0-9]{36}"),
    _format("pypi-token", r"pypi-AgE[A-Za-z0-9_-]{50,}"),
    _format(
        "openai-key",
        r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,}|sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}",
    ),
    _format("anthropic-key", r"sk-ant-[A-Za-z0-9_-]{40,}"),
    _format("openrouter-key", r"sk-or-v1-[0-9a-f]{64}"),
    _format("huggingface-token", r"hf_[A-Za-z0-9]{34,}"),
    _format("digitalocean-token", r"do[opr]_v1_[0-9a-f]{64}"),
    _format("shopify-token", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _format("linear-key", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    _format("azure-storage-key", r"AccountKey=[A-Za-z0-9+/]{86}==", _always),
    _format("telegram-token", r"\d{8,10}:[A-Za-z0-9_-]{35}"),
    _format("databricks-token", r"dapi[0-9a-f]{32}"),
    _format("atlassian-token", r"AT(?:ATT|CTT|BB)[A-Za-z0-9_=-]{24,}"),
    _format("vault-token", r"hv[bsr]\.[A-Za-z0-9_-]{24,}"),
    _format("age-key", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}", _always),
    _format("json-web-token", r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}"),
    Rule(
        "private-key",
        re.compile(
            r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:\\[rn]|[\s\"'+,])*(?:[A-Za-z-]{4,20}: [^\n]{0,200}\n+)*([A-Za-z0-9+/=]{40,})"
        ),
        _always,
    ),
    Rule(
        "password-in-url",
        re.compile(
            r"[a-z][a-z0-9+.-]{1,20}://[^\s:/@\"'`<>]{0,100}:([^\s@/:\"'`<>]{6,200})@[A-Za-z0-9_.\[-]"
        ),
        _in_url,
    ),
    Rule(
        "http-authorization",
        re.compile(
            r"(?i)authorization[\"']?\s{0,4}[:=,]?\s{0,4}[\"']?(?:bearer|basic|token)\s{1,4}([A-Za-z0-9._~+/=-]{16,})"
        ),
        looks_random,
    ),
    Rule(
        "netrc-password",
        re.compile(
            r"(?i)\bmachine\s{1,20}\S{1,200}\s{1,20}login\s{1,20}\S{1,200}\s{1,20}password\s{1,20}(\S{6,200})"
        ),
        looks_random,
    ),
    Rule(
        "registry-auth",
        re.compile(
            r"(?i)(?:\"auth\"\s{0,4}:\s{0,4}\"|:_auth(?:token)?\s{0,4}=\s{0,4}\"?)([A-Za-z0-9+/=_-]{20,})"
        ),
        looks_random,
    ),
    Rule(
        "assigned-secret",
        re.compile(
            r"(?i)(?<![A-Za-z0-9])(?:[A-Za-z0-9]{1,40}[_.-]){0,6}[A-Za-z0-9]{0,20}"
            r"(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)"
            r"(?:[_-]?(?:key|value|str|prod|dev|test|live|s|\d{1,3})){0,3}"
            r"[\"']?\s{0,8}(?:=>|:=|[=:])\s{0,8}"
            r"(?:[bru]?\"([^\"\n\s]{8,500})\"|[bru]?'([^'\n\s]{8,500})'|([A-Za-z0-9+/=_~!#%^&*@-]{12,500})(?=[\s,;]|$))"
        ),
        _assigned,
    ),
)


def find(data: bytes) -> tuple[Hit, ...]:
    """Find every secret in a file's bytes, also in UTF-16 and inside one layer of base64.

    Args:
        data: the whole content; a caller keeps its size within reason.
    """
    text = decode(data)
    hits = dict.fromkeys(_scan(text, first_line=None))
    for match in _WRAPPED.finditer(text):
        inner = _unwrapped(match.group())
        line = text.count("\n", 0, match.start()) + 1
        hits |= dict.fromkeys(_scan(inner, first_line=line))
    return tuple(hits)


def decode(data: bytes) -> str:
    """Read bytes as text by their byte order mark, else as UTF-8; many NULs hint at UTF-16 without a mark."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data.decode(encoding, "replace")
    if data.count(0) * 4 > len(data):
        data = data.replace(b"\0", b"")
    return data.decode("utf-8", "replace")


def _scan(text: str, *, first_line: int | None) -> Iterator[Hit]:
    for rule in RULES:
        for match in rule.pattern.finditer(text):
            secret = next((group for group in match.groups() if group), match.group())
            if rule.accepts(secret):
                line = first_line or text.count("\n", 0, match.start()) + 1
                yield Hit(rule.name, line, hashlib.sha256(secret.encode()).hexdigest()[:16])


def _unwrapped(text: str) -> str:
    try:
        inner = base64.b64decode(text, validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return inner if inner.isprintable() or "\n" in inner else ""
