"""Takes out of a text what must not leave this machine, and says how much of which kind it was.

Three sieves, one after the other: the very values of credentials that are known here, whatever has the form
of one, then people, places and addresses. Must not be the only thing that a report leans on: what
says something in words is left out before it comes here (`words.py`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from autopilot.config import detector, tokens
from autopilot.config.redactor import MIN_SECRET_CHARS
from autopilot.runner.leaks import every_way

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from autopilot.daemon.report.known import Known

STARS = "***"
_CREDENTIALS, _ADDRESSES, _MAIL, _PEOPLE = "credentials", "addresses", "e-mail addresses", "people and places"
_URL = re.compile(r"\b([a-z][a-z0-9+.-]{1,20})://([^\s\"'<>`]*)", re.IGNORECASE)
_SCP = re.compile(r"(?<![\w.@/-])[\w.-]+@[\w.-]+:(?!//)[^\s\"'<>`]+")
_E_MAIL = re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
_HOMES = re.compile(r"(?<![\w.~-])/(home|Users)/(?:[^/\s\"']|(?<=\w) (?=\w+/))+")
_SENTENCE = re.compile(r"[\s\"'@:]|.{160}")
_PUBLIC_HOSTS = frozenset(
    (
        *("github.com", "api.github.com", "gitlab.com", "bitbucket.org", "codeberg.org"),
        *("api.anthropic.com", "api.openai.com", "chatgpt.com"),
        *("generativelanguage.googleapis.com", "api.atlassian.com", "127.0.0.1", "localhost", "[::1]"),
    )
)
"""Hosts that tell nothing of who asks them."""


class Mask:
    """One report's."""

    def __init__(self, known: Known) -> None:
        """Learn what must not be seen."""
        self.counts: Counter[str] = Counter()
        secrets = (secret for secret in known.secrets if len(secret) >= MIN_SECRET_CHARS)
        ways = {way.decode("utf-8", "surrogateescape") for secret in secrets for way in every_way(secret)}
        self._ways = sorted((way for way in ways if len(way) >= MIN_SECRET_CHARS), key=len, reverse=True)
        self._places = _pattern(known.places, before=r"(?<![\w.-])", after=r"(?![\w.-])")
        self._names = _pattern(known.names, before=r"(?<![A-Za-z0-9])", after=r"(?![A-Za-z0-9])", fold=True)
        self._stand_ins = {**known.places, **{name.casefold(): says for name, says in known.names.items()}}

    def text(self, text: str, *, is_whole: bool = True) -> str:
        """Mask one text."""
        text = self.secrets(text, is_whole=is_whole)
        text = self._each(_URL, text, _shortened, _ADDRESSES)
        text = self._each(_SCP, text, lambda _: "<address>", _ADDRESSES)
        text = self._each(_E_MAIL, text, lambda _: "<e-mail>", _MAIL)
        text = self._each(self._places, text, lambda found: self._stand_ins[found[0]], _PEOPLE)
        text = self._each(_HOMES, text, lambda found: f"/{found[1]}/<user>", _PEOPLE)
        return self._each(self._names, text, lambda found: self._stand_ins[found[0].casefold()], _PEOPLE)

    def secrets(self, text: str, *, is_whole: bool = True) -> str:
        """Mask credentials alone; where the whole file is looked through later, a word is done faster."""
        for way in self._ways:
            if way in text:
                self._count(_CREDENTIALS, text.count(way))
                text = text.replace(way, STARS)
        for sieve in (tokens.redact, detector.mask)[: 2 if is_whole or _SENTENCE.search(text) else 1]:
            cleaned = sieve(text)
            self._count(_CREDENTIALS, max(cleaned.count(STARS) - text.count(STARS), cleaned != text))
            text = cleaned
        return text

    def value(self, value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Mask every text in a value, keys too: an operator gives names to tables."""
        if isinstance(value, str):
            return self.text(value, is_whole=False)
        if isinstance(value, dict):
            return {self.secrets(str(key), is_whole=False): self.value(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(inner) for inner in value]
        return value

    def document(self, text: str, *, is_lines: bool = False) -> str:
        """Mask passwords in JSON, or lines of it, that is written already: there the key stands beside them.

        Raises:
            ValueError: what is left is no JSON.
        """
        cleaned = self.secrets(text)
        for part in cleaned.splitlines() if is_lines else (cleaned,):
            json.loads(part)
        return cleaned

    def still_holds(self, data: bytes) -> bool:
        """Tell whether a credential is in there all the same."""
        text = data.decode("utf-8", "surrogateescape")
        return (
            any(way in text for way in self._ways)
            or tokens.value_form().search(text) is not None
            or bool(detector.find(data))
        )

    def _each(
        self,
        pattern: re.Pattern[str] | None,
        text: str,
        put: Callable[[re.Match[str]], str],
        kind: str,
    ) -> str:
        if pattern is None:
            return text
        text, count = pattern.subn(put, text)
        self._count(kind, count)
        return text

    def _count(self, kind: str, count: int) -> None:
        if count:
            self.counts[kind] += count


def _pattern(
    names: Mapping[str, str], *, before: str, after: str, fold: bool = False
) -> re.Pattern[str] | None:
    """Find any of these, the longest first, where nothing goes on before or behind it."""
    if not names:
        return None
    words = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(f"{before}(?:{words}){after}", re.IGNORECASE if fold else 0)


def _shortened(found: re.Match[str]) -> str:
    """Leave of an address its kind, and a host that everybody knows."""
    scheme, rest = found[1], found[2]
    try:
        parts = urlsplit(f"//{rest}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return f"{scheme}://…"
    shown = f"[{host}]" if ":" in host else host
    if shown not in _PUBLIC_HOSTS:
        return f"{scheme}://…"
    return f"{scheme}://{shown}{f':{port}' if port else ''}/…"
