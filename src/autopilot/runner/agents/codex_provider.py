"""Which provider of models the operator's own arguments to Codex choose, and how it is pointed elsewhere.

Pure. Must not guess what Codex itself would read: where that is not plain, the provider has no address here.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_OPTIONS = ("-c", "--config")
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
# Where else a provider may have a credential from.
_SIGNS_ITSELF = (
    *("experimental_bearer_token", "http_headers", "env_http_headers", "query_params", "auth", "aws"),
    "requires_openai_auth",
)


@dataclass(frozen=True, slots=True)
class Provider:
    """One of the operator's own. Without `url` or `key_variable` it signs itself in in some other way."""

    name: str
    url: str = ""
    key_variable: str = ""


def provider_in(argv: Sequence[str]) -> Provider | None:
    """Read the provider that arguments choose; None: they leave it to the client."""
    config: dict[str, Any] = {}
    for key, value in _settings(argv):
        _set(config, key, value)
    name, tables = config.get("model_provider"), config.get("model_providers")
    if name is None and not tables and not _has_profile(argv):
        return None
    table = tables.get(name) if isinstance(tables, dict) else None
    if not isinstance(name, str) or not isinstance(table, dict) or _signs_itself(table):
        return Provider(str(name))
    url, variable = table.get("base_url"), table.get("env_key")
    return Provider(name, url if isinstance(url, str) else "", variable if isinstance(variable, str) else "")


def _signs_itself(table: Mapping[str, Any]) -> bool:
    return any(table.get(key) for key in _SIGNS_ITSELF)


def pointed_to(name: str, url: str) -> tuple[str, str]:
    """Give the argument that lays an address over that of a provider; the last one counts."""
    return _OPTIONS[0], f"model_providers.{name}.base_url={json.dumps(url)}"


def _settings(argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    words = iter(argv)
    for word in words:
        if word in _OPTIONS:
            key, _, value = next(words, "").partition("=")
            yield key.strip(), value.strip()
        elif word.startswith("--config="):
            key, _, value = word.removeprefix("--config=").partition("=")
            yield key.strip(), value.strip()


def _has_profile(argv: Sequence[str]) -> bool:
    """Tell whether they choose what cannot be seen here."""
    return any(word in {"-p", "--profile", "--oss"} or word.startswith("--profile=") for word in argv)


def _set(config: dict[str, Any], key: str, text: str) -> None:
    try:
        value: object = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    if not _PLAIN_KEY.fullmatch(key):
        return
    *tables, last = key.split(".")
    for table in tables:
        below = config.setdefault(table, {})
        if not isinstance(below, dict):
            return
        config = below
    config[last] = value
