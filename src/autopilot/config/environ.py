"""The environment: ours is read here only, a child's is built here from nothing.

Must not let a name through that is not listed, nor a listed one that looks like a credential, except
an agent's own.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.tokens import holds_secret, is_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

UNATTENDED: Mapping[str, str] = {"AUTOPILOT_UNATTENDED": "1", "MULTI_AGENT_UNATTENDED": "1"}
# An agent's MCP toolkit, should one be started, opens listed addresses only and no package index.
TOOLKIT: Mapping[str, str] = {"MCP_TOOLKIT_URL_POLICY": "strict", "MCP_TOOLKIT_INDEX_DENY": "*"}

_FIXED: Mapping[str, str] = {"TERM": "dumb", "CI": "1"}
_INHERITED = re.compile(r"LANG|LC_[A-Z]+|TZ")
# What turns a variable into code, into another repository, or into somebody's key ring.
_NEVER = re.compile(
    r"(GIT|LD|DYLD|AUTOPILOT|MULTI_AGENT|BASH_FUNC|SSH)_.*|PYTHON.*|PERL5.*|RUBY(OPT|LIB)"
    r"|GCONV_PATH|LOCPATH|GLIBC_TUNABLES|LESS(OPEN|CLOSE)|ZDOTDIR|PERLLIB|CLASSPATH"
    r"|NODE_(OPTIONS|PATH)|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|IFS|CDPATH"
    r"|(JAVA_TOOL|_JAVA|JDK_JAVA)_OPTIONS|DBUS_SESSION_BUS_ADDRESS|XDG_RUNTIME_DIR|HOME|PATH|TERM",
    re.IGNORECASE,
)
_AGENTS = r"(CLAUDE|ANTHROPIC|CODEX|OPENAI|CURSOR|AIDER|GEMINI|OPENCODE|COPILOT)"
_OF_AN_AGENT = re.compile(_AGENTS + r"([A-Z]*_.*|CODE)?")
_OF_A_SESSION = re.compile(
    r"CLAUDECODE|" + _AGENTS + r".*(SESSION|THREAD|CONVERSATION|ENTRYPOINT|SSE_PORT|PARENT).*"
)
# What says where something is, or yes or no, or how much.
_PLAIN = re.compile(r"(https?://[^@\s]*|[~.]?/[^\s]*|[A-Za-z][a-z]*|[0-9.]*)")
RUSTUP: tuple[str, str] = ("RUSTUP_HOME", ".rustup")
"""The variable by which rustup finds its compilers, and where they are below the HOME of their person."""
_USUAL_FOLDERS = ("/opt/homebrew/bin", "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")


def current() -> Mapping[str, str]:
    """Give a copy of our own environment."""
    return dict(os.environ)


def search_path(base: Mapping[str, str]) -> str:
    """Give PATH for a child: absolute folders only, then the usual ones that a service's PATH lacks.

    A relative entry would let the repository that we stand in supply the programs.
    """
    given = [entry for entry in base.get("PATH", "").split(os.pathsep) if entry.startswith("/")]
    home = base.get("HOME", "")
    own = [f"{home}/.local/bin"] if home.startswith("/") else []
    return os.pathsep.join(dict.fromkeys([*given, *own, *_USUAL_FOLDERS]))


def refusal(name: str, value: str = "", *, for_agent: bool = False) -> str | None:
    """Say why a variable does not pass though it is listed, or None when it does.

    Args:
        name: the variable.
        value: what it holds.
        for_agent: it is listed for a coding agent, which may have its own credential.
    """
    if _NEVER.fullmatch(name) or (for_agent and _OF_A_SESSION.fullmatch(name)):
        return "never passes to a child"
    if for_agent:
        return None
    if _OF_AN_AGENT.fullmatch(name):
        return "belongs to a coding agent"
    if is_secret_name(name):
        return "is named like a credential"
    return "holds what looks like a credential" if holds_secret(value) else None


def child_environment(
    base: Mapping[str, str] | None,
    *,
    home: Path,
    passed: Iterable[str] = (),
    extra: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Build the environment of a program that may be hostile: a test, a build, a verification.

    Args:
        base: where values come from; None = our own environment.
        home: its private HOME.
        passed: names of the operator's list that may pass.
        extra: what we add ourselves, unchecked.
    """
    return _build(base, home=home, passed=passed, extra=extra, for_agent=False)


def agent_environment(
    base: Mapping[str, str] | None,
    *,
    home: Path,
    passed: Iterable[str] = (),
    own: Iterable[str] = (),
    extra: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Build the environment of a coding agent: as for any child, with its own credential and our mark.

    Args:
        base: where values come from; None = our own environment.
        home: its private HOME.
        passed: names of the repository's list.
        own: names of the agent's list; these alone may be credentials.
        extra: what we add ourselves, unchecked.
    """
    credentials = _build(base, home=home, passed=own, extra=None, for_agent=True)
    rest = _build(base, home=home, passed=passed, extra=None, for_agent=False)
    return {**rest, **credentials, **UNATTENDED, **TOOLKIT, **(extra or {})}


def verifier_environment(
    base: Mapping[str, str] | None, *, passed: Iterable[str], extra: Mapping[str, str]
) -> dict[str, str]:
    """Build the environment of a process of ours that has gates run: as any child, with the person's HOME.

    By that a sandbox knows whose home it must not show; what runs inside has another.
    """
    source = current() if base is None else base
    return child_environment(source, home=home_of(source), passed=passed, extra=extra)


def home_of(base: Mapping[str, str]) -> Path:
    """Give the HOME of the person whose environment this is."""
    return Path(base.get("HOME") or Path.home())


def secrets_among(names: Iterable[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """Give the values of an agent's own variables that may be credentials.

    Any may be, whatever it is called, for these alone may hold one; but an address without a login, a path or
    a word that is too short to be one would only make a log unreadable.
    """
    given = {name: environment[name] for name in names if name in environment}
    return tuple(
        value
        for name, value in given.items()
        if is_secret_name(name) or holds_secret(value) or not _PLAIN.fullmatch(value)
    )


def _build(
    base: Mapping[str, str] | None,
    *,
    home: Path,
    passed: Iterable[str],
    extra: Mapping[str, str] | None,
    for_agent: bool,
) -> dict[str, str]:
    source = current() if base is None else base
    names = [name for name in passed if name in source]
    return {
        "LANG": "C.UTF-8",
        **{
            name: value
            for name, value in source.items()
            if _INHERITED.fullmatch(name) and refusal(name, value) is None
        },
        **_compilers(source, home),
        **{name: source[name] for name in names if refusal(name, source[name], for_agent=for_agent) is None},
        "PATH": search_path(source),
        "HOME": str(home),
        **_FIXED,
        **(extra or {}),
    }


def _compilers(source: Mapping[str, str], home: Path) -> dict[str, str]:
    """Say where the person's rustup keeps its compilers, to a child of another HOME: it would find none."""
    variable, folder = RUSTUP
    given = source.get("HOME", "")
    place = f"{given}/{folder}"
    is_wanted = given.startswith("/") and given != str(home) and os.path.isdir(place)  # noqa: PTH112
    return {variable: place} if is_wanted else {}
