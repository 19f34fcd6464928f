"""Looks for the agent's own credentials in what a run would commit, whatever they look like.

Must not repeat one. A scan by form comes before anything is published; this one knows the values.
"""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING

from autopilot.config.environ import current, secrets_among
from autopilot.config.redactor import MIN_SECRET_CHARS, ways_of
from autopilot.runner.agents.registry import sign_in_variables
from autopilot.runner.changes import shown_path
from autopilot.runner.stacks.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from autopilot.config.git import Git
    from autopilot.schemas.run import AgentSpec

MAX_FILE_BYTES = 64 * 1024 * 1024  # the publisher refuses far smaller ones
_MAX_NAMED = 5
_PER_GROUP = 3
_BLANKS = b" \t\r\n"


def own_secrets(agent: AgentSpec) -> tuple[str, ...]:
    """Give the values that an agent signs in with, or that its operator passes to it alone."""
    return secrets_among((*sign_in_variables(agent), *agent.env_pass), current())


def leaks(git: Git, repository: Path, *, base: str, tree: str, secrets: Iterable[str]) -> tuple[str, ...]:
    """Say which files of a tree hold one of these values: in content, in name, or in where a link leads.

    Args:
        git: our git.
        repository: ours, with both trees.
        base: what is there already, which is not looked at.
        tree: what would be committed.
        secrets: the values.

    Raises:
        GitError: one of the trees is not there.
    """
    needles = {way for secret in secrets if len(secret) >= MIN_SECRET_CHARS for way in every_way(secret)}
    if not needles:
        return ()
    before, after = Tree.at(git, repository, base), Tree.at(git, repository, tree)
    new = [path for path, blob in after.blobs.items() if before.blobs.get(path) != blob]
    contents = after.contents(new, max_bytes=MAX_FILE_BYTES, with_links=True)
    holding = {path for path, content in contents if _holds(content, needles)}
    found = [_shown(path, needles) for path in new if path in holding or _holds(os.fsencode(path), needles)]
    if not found:
        return ()
    more = f" and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
    named = f"{', '.join(found[:_MAX_NAMED])}{more}"
    return (f"a credential of the agent's own stands in {named}: take it out, it may not leave this machine",)


def _holds(data: bytes, needles: Collection[bytes]) -> bool:
    """Look at it as it is and without its blanks and line ends: `base64` and `xxd` break their lines."""
    return any(needle in text for text in (data, data.translate(None, _BLANKS)) for needle in needles)


def _shown(path: str, needles: Collection[bytes]) -> str:
    name = os.fsencode(path)
    return "the name of a file" if _holds(name, needles) else shown_path(name)


def every_way(secret: str) -> Iterable[bytes]:
    """Write a value as it is usually written; in base64 it has three beginnings."""
    yield from ways_of(secret)
    raw = secret.encode("utf-8", "surrogatepass")
    yield from (raw.hex().encode(), raw.hex().upper().encode())
    yield secret.encode("utf-16-le", "surrogatepass")
    for skipped in range(_PER_GROUP):
        whole = raw[skipped : skipped + (len(raw) - skipped) // _PER_GROUP * _PER_GROUP]
        yield from (base64.b64encode(whole), base64.urlsafe_b64encode(whole))
