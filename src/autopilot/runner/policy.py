"""Reads `.autopilot.toml` from the base commit, out of a repository of ours; never from a worktree.

Must not fall back to anything when the file is there but wrong: that is the operator's to mend.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from autopilot.config.nearest import nearest
from autopilot.runner.stacks.tree import Tree
from autopilot.schemas.errors import ConfigError
from autopilot.schemas.policy import POLICY_FILE, Commands, Policy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from autopilot.config.git import Git

_KEYS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    (): tuple(Policy.model_fields),
    ("commands",): tuple(Commands.model_fields),
}


def read_policy(git: Git, git_dir: Path, base_sha: str) -> Policy:
    """Read the policy of a base commit.

    Args:
        git: our git.
        git_dir: a repository of ours that holds the commit.
        base_sha: the commit; its worktree is never looked at.

    Returns:
        The policy; an empty one when the commit has no policy file.

    Raises:
        ConfigError: the file is no plain file, no TOML, or holds a key or value that means nothing. It names
            file@commit, the key, and the nearest key there is.
    """
    return policy_of(Tree.at(git, git_dir, base_sha))


def policy_of(base: Tree) -> Policy:
    """Read the policy from the files of a base commit; raises as `read_policy`."""
    if POLICY_FILE not in base.blobs:
        return Policy()
    where = f"{POLICY_FILE}@{base.sha[:12]}"
    content = base.read(POLICY_FILE)
    if content is None:
        what = f"{where} is no plain file of a sensible size"
        raise ConfigError("policy-unreadable", what, hint="commit a file of TOML: docs/policy.md")
    try:
        stated = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as exc:
        hint = "mend it on the base branch: docs/policy.md"
        raise ConfigError("policy-unreadable", f"{where} is no TOML: {exc}", hint=hint) from exc
    try:
        return Policy.model_validate(stated)
    except ValidationError as exc:
        raise _invalid(where, exc) from exc


def _invalid(where: str, errors: ValidationError) -> ConfigError:
    first: Mapping[str, Any] = errors.errors(include_url=False)[0]
    path = tuple(str(part) for part in first["loc"])
    key = ".".join(path)
    if first["type"] != "extra_forbidden":
        return ConfigError(
            "policy-invalid", f"{where}: {key}: {first['msg']}", hint="mend it on the base branch"
        )
    known = _KEYS.get(path[:-1], ())
    hint = nearest(path[-1], known) or f"known keys: {', '.join(known)}"
    return ConfigError("policy-invalid", f"{where}: there is no key {key}", hint=hint)
