"""Kinds of values that an operator writes: hours, time zones, names, addresses of repositories.

Must not look at the disk or the network: a setting that was right yesterday still loads today.
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from autopilot.config.tokens import holds_secret
from autopilot.schemas.ids import LANGUAGE, ref_name_fault

_SCP = re.compile(r"^(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9.-]{2,}:(?!//)[^\s]+$")
_MODEL = r"^[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,99}$"
_SHORTEST_LIFE_DAYS = 30
_GIT_SCHEMES = ("https", "http", "ssh", "git", "file")
# Not \d: to pydantic that is a digit of any script, and the tables of those take a fifth of a MB.
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9]"


def long_or_never(days: int) -> int:
    """Refuse a time so short that a ticket could go while somebody still asks for it."""
    if 0 < days < _SHORTEST_LIFE_DAYS:
        msg = f"is less than {_SHORTEST_LIFE_DAYS} days; 0 keeps them for ever"
        raise ValueError(msg)
    return days


def _window(text: str) -> str:
    if text and len(set(text.split("-"))) == 1:
        raise ValueError('begins and ends at the same time; write "" for any hour')
    return text


def _time_zone(name: str) -> str | None:
    if not name:
        return None
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise ValueError("is no time zone of this machine; they look like Europe/Berlin") from exc
    return name


def _branch(name: str) -> str:
    if fault := ref_name_fault(name):
        msg = f"is no branch name: it {fault}"
        raise ValueError(msg)
    return name


def _folder(path: Path) -> Path:
    full = path.expanduser()
    if not full.is_absolute():
        raise ValueError("must be an absolute path, or begin with ~")
    return full


def _git_url(text: str) -> str:
    """Accept what git can fetch from over the network, or file://; no credential in it."""
    scheme = urlsplit(text).scheme if "://" in text else ""
    if any(char <= " " for char in text):
        raise ValueError("holds a blank or a control character; write %20 for a blank")
    if text.startswith("-") or "::" in text or not (scheme in _GIT_SCHEMES or _SCP.match(text)):
        msg = f"is no URL of a repository; use {', '.join(_GIT_SCHEMES)} or user@host:path"
        raise ValueError(msg)
    if holds_secret(text):
        raise ValueError("holds a credential; take it out and name one with `credential`")
    return text


def _name_of_credential(name: str) -> str:
    if holds_secret(name):
        raise ValueError("is a credential itself; put it into the key ring, and its name here")
    return name


def _web_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"https", "http"} or not parts.hostname or parts.username:
        raise ValueError("is no https address")
    return text.rstrip("/")


_HOURS = rf"^({_CLOCK}-{_CLOCK})?$"
_CLOCK_TIME = rf"^{_CLOCK}$"
_VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
_SLUG = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
_PROJECT = r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9._-]+)+$"
PATTERNS: Mapping[str, str] = {
    _HOURS: "should look like 22:00-07:00, or be empty",
    _CLOCK_TIME: "should look like 07:30",
    LANGUAGE: "should look like en or pt-BR",
    _VARIABLE: "should be the name of an environment variable",
    _SLUG: "should begin with a letter or digit and hold no more than 64 of letters, digits, . _ -",
    _MODEL: "should be the model's name as its vendor writes it: letters, digits, . _ : / @ [ ] -",
    _PROJECT: "should look like owner/name",
}

CredentialName = Annotated[str, Field(pattern=_SLUG), AfterValidator(_name_of_credential)]
Hours = Annotated[str, Field(pattern=_HOURS), AfterValidator(_window)]
ClockTime = Annotated[str, Field(pattern=_CLOCK_TIME)]
TimeZone = Annotated[str | None, AfterValidator(lambda name: _time_zone(name or ""))]
Language = Annotated[str, Field(pattern=LANGUAGE)]
VariableName = Annotated[str, Field(pattern=_VARIABLE)]
Gibibytes = Annotated[float, Field(ge=0, le=100_000)]
Load = Annotated[float, Field(ge=0, le=1000)]
Slug = Annotated[str, Field(pattern=_SLUG)]
ModelName = Annotated[str, Field(pattern=_MODEL)]
Branch = Annotated[str, AfterValidator(_branch)]
Folder = Annotated[Path, AfterValidator(_folder)]
GitUrl = Annotated[str, AfterValidator(_git_url)]
WebUrl = Annotated[str, AfterValidator(_web_url)]
Project = Annotated[str, Field(pattern=_PROJECT)]
DaysOrNever = Annotated[int, Field(ge=0, le=36_500), AfterValidator(long_or_never)]
