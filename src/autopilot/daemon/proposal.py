"""Writes a survey down as configuration, and says what else a person has to do. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.daemon.survey import Survey

CREDENTIAL = "github"
"""The name under which the token for GitHub is looked for in the key ring."""


def toml(found: Survey, *, has_identity: bool) -> str:
    """Write the configuration down, leaving out an identity that is configured already.

    Raises:
        ConfigError: a path holds bytes that no configuration file can carry.
    """
    lines = ["[[repo]]", f"name = {_quoted(found.name)}", _address(found), f"base = {_quoted(found.base)}"]
    if found.remote is not None and found.remote.project:
        lines += ['forge = "github"', f"project = {_quoted(found.remote.project)}"]
        lines.append(f"credential = {_quoted(CREDENTIAL)}")
    else:
        lines.append('forge = "local"')
    if found.identity and not has_identity:
        name, email = found.identity
        lines = ["[identity]", f"name = {_quoted(name)}", f"email = {_quoted(email)}", "", *lines]
    return "\n".join(lines) + "\n"


def address(found: Survey) -> str:
    """Name where branches are fetched from and pushed to: the remote, or the repository itself."""
    return found.remote.address if found.remote is not None else str(found.repository)


def _address(found: Survey) -> str:
    key = "url" if found.remote is not None and found.remote.is_url else "path"
    return f"{key} = {_quoted(address(found))}"


def _quoted(text: str) -> str:
    """Quote as a TOML basic string, which JSON's escapes are a part of (TOML 1.0, section String)."""
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        what = f"{text.encode(errors='backslashreplace').decode()} is no UTF-8 text"
        raise ConfigError(
            "name-not-text", what, hint="a configuration file cannot carry it; rename it"
        ) from exc
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def next_steps(
    found: Survey, *, missing_program: str, missing_token: str, missing_identity: str, config_file: Path
) -> Iterator[str]:
    """Say what is still to be done, in its order.

    Args:
        found: the survey.
        missing_program: the agent's program that is not installed; empty when it is.
        missing_token: how to store the forge's token; empty when it is there or none is needed.
        missing_identity: who stands in for the person in commits; empty when they are known.
        config_file: where the configuration is.
    """
    if missing_program:
        yield f"install {missing_program}, or name another agent: default_agent in {config_file}"
    if missing_token:
        yield f"store a token that may push and open pull requests: {missing_token}"
    if missing_identity:
        yield f"say who you are: [identity] with name and email in {config_file}"
    if found.tests.policy:
        yield f"commit the lines above as .autopilot.toml on {found.base}, with your own test command"
    yield f'autopilot add --repo {found.name} "what to do"'
    yield "autopilot on"
