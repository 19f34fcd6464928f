"""What must not be seen in a report: values of credentials, and what tells of people and this machine.

The one place outside of a publisher that reads a credential's value, to take it out of what is sent away; it
is kept in memory and shown to nobody. Must not ask a key ring that is locked, nor make anybody wait for one.
"""

from __future__ import annotations

import os
import platform
import pwd
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from autopilot.config import environ, handed, secrets, tokens
from autopilot.config.detector import looks_random
from autopilot.config.layers import layers
from autopilot.config.redactor import MIN_SECRET_CHARS
from autopilot.config.tokens import holds_secret, is_secret_name
from autopilot.daemon.checkup import who
from autopilot.schemas.errors import AutopilotError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths

_NOBODY = frozenset({"root", "localhost", "nobody", "daemon"})
_LEAST_NAME = 3
"""A shorter name would be found in half of all words; where it stands in the path of a home, that is cut."""
_OPTION = re.compile(r"--?(?P<name>[A-Za-z][\w-]*)(?:=(?P<value>.+))?", re.DOTALL)
_QUOTED = re.compile(r"""(?:(?P<key>[\w-]+)\s*=\s*)?(?P<quote>["'])(?P<text>.+?)(?P=quote)""")
_UNPARSED = "unparsed"
_PRIVATE_REPO_KEYS = ("path", "url", "push_url", "api_url", "project")


@dataclass(frozen=True, slots=True)
class Known:
    """Values, and what stands in their place."""

    secrets: frozenset[str] = frozenset()
    places: Mapping[str, str] = field(default_factory=dict)
    """Beginnings of paths."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of people, machines and repositories, found where they stand as words."""
    texts: frozenset[str] = frozenset()
    """What the operator wrote into the configuration; masked where an error repeats it."""
    unread: tuple[str, ...] = ()
    """Credentials whose values could not be had: of them only known forms are found."""


def learn(paths: Paths, clock: Clock) -> Known:
    """Gather all of it; what cannot be read is named."""
    values, unparsed = _configured(paths)
    kept, unread = _of_key_ring(values)
    passed, closed = _handed(paths)
    environments = (environ.current(), who.find(paths, clock).environment)
    found = {value for each in environments for value in _credentials(each)} | kept | passed
    found |= {value for value in _said_openly(values) if len(value) >= MIN_SECRET_CHARS}
    found |= {password for value in found for password in _passwords(value)}
    return Known(
        secrets=frozenset(found),
        places=_places(paths),
        names={**_machine(), **_repositories(values)},
        texts=frozenset(text for _, text in leaves(values)),
        unread=(*unread, *closed, *unparsed),
    )


def leaves(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Give every text in a value, with the name of the key that it stands under."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner, name)


def _configured(paths: Paths) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Read what is configured, right or wrong; of what is no TOML every text in quotes."""
    try:
        return layers(paths.config_file, environ.current(), {}).values, ()
    except AutopilotError:
        pass
    try:
        text = paths.config_file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    found = [{each["key"] or "": each["text"]} for each in _QUOTED.finditer(text)]
    return {_UNPARSED: found}, ("the configuration, which is no TOML (texts in quotes there are masked)",)


def _credentials(environment: Mapping[str, str]) -> Iterator[str]:
    """Give what is named or formed like a credential, and what looks random and is no path or word."""
    for name, value in environment.items():
        is_one = is_secret_name(name) or holds_secret(value) or looks_random(value)
        if is_one and len(value) >= MIN_SECRET_CHARS:
            yield from environ.secrets_among((name,), environment)


def _passwords(value: str) -> Iterator[str]:
    """Give what an address is opened with: it may stand somewhere by itself."""
    for login in tokens.IN_URL.findall(value):
        password = login.partition(":")[2]
        yield from (each for each in {password, unquote(password)} if len(each) >= MIN_SECRET_CHARS)


def _of_key_ring(values: Mapping[str, Any]) -> tuple[set[str], tuple[str, ...]]:
    """Read the credentials that the configuration names."""
    found, unread = set[str](), []
    for name in sorted({text for key, text in leaves(values) if key == "credential"}):
        standing = secrets.status(name)
        if standing == "missing":
            continue
        try:
            value = secrets.read(name) if standing == "readable" else None
        except AutopilotError:
            value = None
        if value is None:
            unread.append(f"the credential {name} ({standing})")
        else:
            found.add(value)
    return found, tuple(unread)


def _handed(paths: Paths) -> tuple[set[str], tuple[str, ...]]:
    try:
        given = handed.read(handed.file_beside(paths.config_file))
    except (AutopilotError, OSError):
        return set(), ("what was handed to the service (service-environment.json cannot be used)",)
    return {value for value in given.values() if len(value) >= MIN_SECRET_CHARS}, ()


def _said_openly(values: Mapping[str, Any]) -> Iterator[str]:
    """Give what stands in the configuration as a password though it should not: by its key, or its option."""
    for name, text in leaves(values):
        if name != "credential" and (is_secret_name(name) or holds_secret(text)):
            yield text
    for words in _command_lines(values):
        yield from _of_options(words)


def _command_lines(value: object) -> Iterator[list[str]]:
    """Give every list of texts, whatever table and key it stands under: any may be a command line."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _command_lines(inner)
    elif isinstance(value, list | tuple):
        yield [word for word in value if isinstance(word, str)]
        for inner in value:
            yield from _command_lines(inner)


def _of_options(words: list[str]) -> Iterator[str]:
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if (option := _OPTION.fullmatch(word)) and is_secret_name(option["name"]):
            yield option["value"] or following


def _tables(value: object) -> Iterable[dict[str, Any]]:
    each = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [table for table in each if isinstance(table, dict)]


def _places(paths: Paths) -> dict[str, str]:
    """Give the beginnings of paths that tell who somebody is, each with its stand-in."""
    account = _account()
    homes = {environ.current().get("HOME", ""), "" if account is None else account.pw_dir}
    homes |= {os.path.realpath(home) for home in homes if home}
    found = {home.rstrip("/"): "~" for home in homes if home.strip("/")}
    if environ.current().get("AUTOPILOT_HOME"):
        own = paths.state.parent
        found |= {str(place): "$AUTOPILOT_HOME" for place in (own, Path(os.path.realpath(own)))}
    return found


def _account() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwuid(os.getuid())
    except KeyError:
        return None


def _machine() -> dict[str, str]:
    """Give the names of this machine and of whoever we run as."""
    host, account = platform.node(), _account()
    users = {environ.current().get(name, "") for name in ("USER", "LOGNAME")}
    if account is not None:
        users |= {account.pw_name, account.pw_gecos.partition(",")[0]}
    names = dict.fromkeys((host, host.partition(".")[0]), "<host>") | dict.fromkeys(users, "<user>")
    return {name: stands for name, stands in names.items() if _identifies(name)}


def _repositories(values: Mapping[str, Any]) -> dict[str, str]:
    """Give the names and the places of repositories and trackers, and whose name commits carry."""
    found: dict[str, str] = {}
    identity = values.get("identity")
    for text in identity.values() if isinstance(identity, dict) else ():
        found |= {str(text): "<identity>"}
    found |= {text: "<configured>" for _, text in leaves(values.get(_UNPARSED))}
    for number, repo in enumerate(_tables(values.get("repo")), 1):
        found |= {str(repo[key]): f"<{key} of repo-{number}>" for key in _PRIVATE_REPO_KEYS if repo.get(key)}
        found |= {str(repo.get("name", "")): f"repo-{number}"}
    for number, tracker in enumerate(_tables(values.get("tracker")), 1):
        found |= {
            str(tracker[key]): f"<{key} of tracker-{number}>"
            for key in ("url", "site", "account")
            if tracker.get(key)
        }
        projects = tracker.get("projects")
        found |= {str(name): "<project>" for name in (projects if isinstance(projects, dict) else ())}
    return {name: stands for name, stands in found.items() if _identifies(name) and name != "autopilot"}


def _identifies(name: str) -> bool:
    return len(name) >= _LEAST_NAME and name.casefold() not in _NOBODY
