"""What the remote has: its default branch and its branches; and which of them the ticket starts from.

Must not write anywhere, and must not trust a clone's memory of the default branch: nobody re-points it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from autopilot.runner.failure import RunFailure
from autopilot.schemas.ids import ref_name_fault
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.config.git import Git
    from autopilot.schemas.run import RepoSpec

_HEADS = "refs/heads/"
_MAX_NAMED = 8
_URL = re.compile(r"(?:[a-z+]+://|/|[\w.-]+@[\w.-]+:)")


@dataclass(frozen=True, slots=True)
class Remote:
    """Branches with their commits, and the one that HEAD names (None: detached or dangling)."""

    default: str | None
    branches: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Base:
    """The branch a ticket starts from, which rule chose it, and what a person should know about that."""

    name: str
    source: str
    warnings: tuple[str, ...] = ()


def look_at(network: Git, url: str) -> Remote:
    """Ask the remote for its branches. Source: git-ls-remote(1), `--symref`.

    Raises:
        RunFailure: the address cannot be one; configuration.
        GitError: the remote is not there or refuses us.
    """
    if not _URL.match(url) or "::" in url.partition("/")[0]:
        what = f"not an address git may fetch from: {url!r}"
        raise RunFailure(Outcome.CONFIGURATION, "remote-invalid", what, hint="give a URL or an absolute path")
    out = network.run("ls-remote", "--symref", "--", url, "HEAD", f"{_HEADS}*")
    default, branches = None, {}
    for line in os.fsdecode(out).splitlines():
        value, _, name = line.partition("\t")
        if name == "HEAD" and value.startswith("ref: "):
            default = value.removeprefix("ref: ").removeprefix(_HEADS)
        elif name.startswith(_HEADS):
            branches[name.removeprefix(_HEADS)] = value
    return Remote(default if default in branches else None, branches)


def choose_base(spec: RepoSpec, remote: Remote) -> Base:
    """Choose the branch that the ticket starts from: the one that is set, else the remote's default.

    Raises:
        RunFailure: there is none, or it does not exist; base-branch, with the names that do exist.
    """
    if not remote.branches:
        what = f"the repository {spec.name!r} has no commit on any branch"
        raise _no_base("base-unborn", what, hint="push a first commit, then resume the ticket")
    if spec.base is not None:
        if fault := ref_name_fault(spec.base):
            raise _no_base("base-invalid", f"the base branch {spec.base!r} {fault}", hint="name another base")
        if spec.base not in remote.branches:
            what = f"the remote of {spec.name!r} has no branch {spec.base!r}"
            raise _no_base("base-not-found", what, hint=f"it has {_named(remote, spec.base)}")
        return Base(spec.base, spec.base_source)
    if remote.default is None:
        what = f"the remote of {spec.name!r} does not say which branch is its default"
        hint = f"set `base` for the repository; it has {_named(remote, spec.cached_default or 'main')}"
        raise _no_base("base-unknown", what, hint=hint)
    if fault := ref_name_fault(remote.default):
        what = f"the remote's default branch {remote.default!r} {fault}"
        raise _no_base("base-invalid", what, hint="set `base` for the repository")
    return Base(remote.default, "derived", _mismatch(spec, remote.default))


def _mismatch(spec: RepoSpec, default: str) -> tuple[str, ...]:
    cached = spec.cached_default
    if cached is None or cached == default:
        return ()
    told = (
        f"the local clone takes {cached!r} for the default branch, the remote says {default!r}: the remote's "
        "is used; `git remote set-head origin --auto` mends the clone"
    )
    return (told,)


def _no_base(code: str, what: str, *, hint: str) -> RunFailure:
    return RunFailure(Outcome.BASE_BRANCH, code, what, hint=hint)


def _named(remote: Remote, wanted: str) -> str:
    """Name the branches that come nearest, then others, a few in all."""
    near = get_close_matches(wanted, remote.branches, n=_MAX_NAMED)
    names = list(dict.fromkeys([*near, *sorted(remote.branches)]))
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(name.encode("utf-8", "replace").decode() for name in names[:_MAX_NAMED]) + more
