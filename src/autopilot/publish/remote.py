"""What the remote holds at this moment: our branch, the base, the default branch.

A publication's only reader of the remote. Must not change it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config.git import GitError
from autopilot.publish.body import BaseMoved
from autopilot.publish.context import BASE_REF, HEAD_REF, NOW_REF, Context
from autopilot.publish.staging import FETCH, STRICT
from autopilot.publish.stops import Stop
from autopilot.schemas.errors import AutopilotError, TransientError

if TYPE_CHECKING:
    from autopilot.publish.askpass import Access


@dataclass(frozen=True, slots=True)
class Remote:
    """Heads by object name; None where there is no such branch."""

    branch: str | None
    base: str | None
    default: str | None


def look(ctx: Context, access: Access) -> Remote:
    """Ask the remote for the heads that matter.

    Args:
        ctx: the publication.
        access: lends git the credential.

    Raises:
        TransientError: it cannot be reached now.
        Stop: it refuses us.
    """
    branch, base = f"refs/heads/{ctx.spec.branch}", f"refs/heads/{ctx.spec.base}"
    args = ("ls-remote", "--quiet", "--symref", "--", ctx.spec.forge.push_url, "HEAD", branch, base)
    try:
        listed = ctx.git.run(*args, git_dir=ctx.staging, env=access.env)
    except GitError as exc:
        raise translated(exc, access) from exc
    heads: dict[str, str] = {}
    default = None
    for line in listed.split(b"\n"):
        value, _, name = line.partition(b"\t")
        if value.startswith(b"ref: refs/heads/") and name == b"HEAD":
            default = os.fsdecode(value.removeprefix(b"ref: refs/heads/"))
        elif name:
            heads[os.fsdecode(name)] = value.decode("ascii", "replace")
    return Remote(heads.get(branch), heads.get(base), default)


def base_moved(ctx: Context, remote: Remote, access: Access) -> BaseMoved:
    """Fetch the base as it is now and measure how far it went on, and whether the commit still merges.

    Raises:
        TransientError: it cannot be fetched now.
        Stop: the base is gone, or the remote refuses us.
    """
    if remote.base is None:
        raise Stop(
            "base-missing",
            f"the base branch {ctx.spec.base!r} is not on the remote any more",
            waiting_for="configuration",
            hint="give the ticket another base and run it again",
        )
    if remote.base == ctx.spec.base_sha:
        return BaseMoved(behind=0)
    refs = f"refs/heads/{ctx.spec.base}:{NOW_REF}"
    try:
        ctx.git.run(
            *FETCH, "--", ctx.spec.forge.push_url, refs, git_dir=ctx.staging, env=access.env, config=STRICT
        )
    except GitError as exc:
        raise translated(exc, access) from exc
    behind = ctx.git.run("rev-list", "--count", f"{BASE_REF}..{NOW_REF}", git_dir=ctx.staging)
    conflicts = _conflicts(ctx)
    return BaseMoved(
        behind=int(behind),
        rewritten=not ctx.git.check("merge-base", "--is-ancestor", BASE_REF, NOW_REF, git_dir=ctx.staging),
        conflicts=conflicts,
        touched_by_both=_touched_by_both(ctx) if conflicts else (),
    )


@dataclass(frozen=True, slots=True)
class InStaging:
    """What the remote showed when this publication looked; only after `base_moved`."""

    ctx: Context

    def holds(self, base: str, sha: str) -> bool:
        """Tell whether the publication's base, as it is now, contains a commit."""
        git, staging = self.ctx.git, self.ctx.staging
        if base != self.ctx.spec.base:
            return False
        has_moved = git.check("rev-parse", "--verify", "--quiet", NOW_REF, git_dir=staging)
        ref = NOW_REF if has_moved else BASE_REF
        try:
            return git.check("merge-base", "--is-ancestor", sha, ref, git_dir=staging)
        except GitError:
            return False  # the object is not there at all

    def is_gone(self, branch: str) -> bool:
        """Leave it to `branch.next_step`, which knows whether we pushed it."""
        del branch
        return False


def _conflicts(ctx: Context) -> bool | None:
    try:
        return not ctx.git.check("merge-tree", "--write-tree", NOW_REF, HEAD_REF, git_dir=ctx.staging)
    except GitError:
        return None  # git before 2.38, or histories without a common commit


def _touched_by_both(ctx: Context) -> tuple[str, ...]:
    args = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", BASE_REF)
    ours = set(ctx.git.lines_z(*args, HEAD_REF, git_dir=ctx.staging))
    theirs = set(ctx.git.lines_z(*args, NOW_REF, git_dir=ctx.staging))
    return tuple(sorted(os.fsdecode(path) for path in ours & theirs))


def translated(exc: GitError, access: Access) -> AutopilotError:
    """Turn git's failure into who acts next; what the server said goes along, cleaned."""
    said = access.told(exc.stderr_tail)
    if exc.is_transient:
        what = f"the remote could not be reached: {said}"
        return TransientError("remote-unreachable", what, hint="nothing to do: it is tried again")
    if exc.code == "git-auth":
        return Stop(
            "remote-refused-credential",
            f"the remote did not accept the credential: {said}",
            waiting_for="credential",
            hint="store a token that may push to this repository",
        )
    if exc.code == "git-sso":
        what = f"the remote wants a token that single sign-on has let through: {said}"
        return Stop("remote-wants-sso", what, waiting_for="credential", hint=exc.hint)
    hint = exc.hint or "check push_url in the configuration"
    what = f"the remote is not usable: {said}"
    return Stop("remote-unusable", what, waiting_for="configuration", hint=hint)
