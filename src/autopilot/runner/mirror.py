"""Our own bare copy of a remote: one per repository, written by one run at a time, read by all.

Must not fetch more than the base branch, prune, collect garbage (runs borrow its objects), or run with a
configuration of the user's except while it talks to the remote.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from autopilot.config.atomic import make_folder, sync_folder, sync_folders, sync_tree
from autopilot.config.git import GitError
from autopilot.config.removal import remove_tree
from autopilot.runner.failure import RunFailure
from autopilot.runner.locks import clear_stale_locks, held
from autopilot.runner.places import git_path, object_format, platform_config
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from autopilot.config.git import Git
    from autopilot.runner.remote import Base, Remote
    from autopilot.schemas.run import RepoSpec

_ABANDONED_AFTER_S = 5.0
_HEX_DIGITS = 16
BASES = "refs/autopilot/base/"
_INCOMING = "refs/autopilot/incoming"
# Git flushes packs and nothing else by default. Source: git-config(1), `core.fsync`.
_FLUSHED: Mapping[str, str] = {"core.fsync": "loose-object,reference"}


def base_ref(base: str) -> str:
    """Name the mirror's ref of a base branch.

    Two branches of a remote may differ only in case, and one may be another's folder in the next year: a
    digest keeps them apart on every disk.
    """
    return f"{BASES}{hashlib.sha256(base.encode()).hexdigest()[:_HEX_DIGITS]}"


def fetch_base(
    git: Git,
    network: Git,
    spec: RepoSpec,
    *,
    base: Base,
    remote: Remote,
    on_lock_removed: Callable[[Path], None],
) -> str:
    """Bring the base branch into the mirror and give its commit.

    Args:
        git: our git.
        network: git with what the user's remotes need.
        spec: the repository.
        base: the branch to fetch; nothing else is.
        remote: what the remote has, for the format of its object names.
        on_lock_removed: told of each lock that a killed git had left.

    Raises:
        RunFailure: another run holds the mirror, or git would not take the branch over.
        GitError, OSError: the fetch failed, or its outcome could not be flushed to the disk.
    """
    mirror, ref = spec.mirror, base_ref(base.name)
    make_folder(mirror.parent)
    with held(mirror.with_name(mirror.name + ".lock"), timeout_s=git.timeout_s, clock=git.clock):
        _ensure(git, mirror, object_format(remote.branches[base.name]))
        names = (
            "config.lock",
            "packed-refs.lock",
            "shallow.lock",
            "HEAD.lock",
            f"{ref}.lock",
            f"{_INCOMING}.lock",
        )
        paths = [git_path(git, mirror, name) for name in names]
        # We hold the mirror, so whoever made a lock in it is dead or about to end.
        for path in clear_stale_locks(
            paths, git.clock, stale_after_s=_ABANDONED_AFTER_S, wait_s=2 * _ABANDONED_AFTER_S
        ):
            on_lock_removed(path)
        sha = _fetch(git, network, spec, branch=base.name)
        git.run("update-ref", ref, sha, git_dir=mirror, config=_FLUSHED)
        sync_folders(mirror)
        return sha


def _fetch(git: Git, network: Git, spec: RepoSpec, *, branch: str) -> str:
    """Fetch one branch under a name that is free: an update that git refuses must not pass for an old one."""
    mirror = spec.mirror
    git.run("update-ref", "-d", _INCOMING, git_dir=mirror)
    network.run(
        *("fetch", "--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-recurse-submodules"),
        *("--refmap=", "--", spec.url, f"+refs/heads/{branch}:{_INCOMING}"),
        git_dir=mirror,
        config=_FLUSHED,
    )
    try:
        sha = git.run("rev-parse", "--verify", "--quiet", f"{_INCOMING}^{{commit}}", git_dir=mirror)
    except GitError as exc:
        if exc.is_transient:
            raise  # it says nothing about the repository
        what = f"git would not fetch {branch!r} from the repository {spec.name!r}"
        hint = (
            "is it a shallow clone? Run git fetch --unshallow in it, or give the address it was cloned from"
        )
        raise RunFailure(Outcome.CONFIGURATION, "base-not-fetched", what, hint=hint) from exc
    return sha.decode().strip()


def _ensure(git: Git, mirror: Path, objects: str) -> None:
    """Make the mirror aside, flush it and rename it into place: half a mirror would stop every later run."""
    if (mirror / "HEAD").is_file():
        return
    draft = mirror.with_name(mirror.name + ".new")
    if draft.exists():
        remove_tree(draft)
    git.run("init", "--quiet", "--bare", "--template=", f"--object-format={objects}", str(draft))
    for key, value in platform_config(draft).items():
        git.run("config", key, value, git_dir=draft)
    sync_tree(draft)
    draft.rename(mirror)
    sync_folder(mirror.parent)
