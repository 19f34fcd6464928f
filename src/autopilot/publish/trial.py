"""Whether a branch of ours could be pushed: everything of a push but the push itself.

The remote is asked for a push as a publication would ask, with the same token, the same git and nobody to
answer a prompt; `--dry-run` ends it before anything is sent. Must not change anything anywhere.
Source: git-push(1), `--dry-run`: it connects and authenticates, and no hook of the remote is run.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from autopilot.config.git import Git, GitError
from autopilot.publish import branch, credential, remote
from autopilot.publish.stops import Stop
from autopilot.schemas.errors import AutopilotError, TransientError
from autopilot.schemas.publication import PushTrialReport

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.config.clock import Clock
    from autopilot.publish.askpass import Access
    from autopilot.schemas.publication import PushTrialSpec

_AUTHOR: Mapping[str, str] = {"user.name": "autopilot", "user.email": "autopilot@localhost"}
_SHA256_DIGITS = 64


def attempt(spec: PushTrialSpec, *, clock: Clock, folder: Path) -> PushTrialReport:
    """Ask, and say what came of it.

    Args:
        spec: where, and which branch.
        clock: the time.
        folder: this question's own private folder.
    """
    until_s = clock.monotonic_s() + spec.wall_s

    def is_late() -> str | None:
        return "out of time" if clock.monotonic_s() >= until_s else None

    git = Git(clock, folder / "git", timeout_s=spec.wall_s, grace_s=spec.kill_grace_s, should_stop=is_late)
    try:
        with credential.access(spec.forge.credential, folder, then="ask again: autopilot doctor") as access:
            _try(spec, git, folder / "trial.git", access)
    except TransientError as exc:
        what = f"no answer within {spec.wall_s:g} s" if is_late() else exc.what
        return failed(spec, exc.code, what, hint=exc.hint, is_transient=True)
    except AutopilotError as exc:
        return failed(spec, exc.code, exc.what, hint=exc.hint)
    return PushTrialReport(id=spec.id, ok=True)


def failed(
    spec: PushTrialSpec, code: str, message: str, *, hint: str = "", is_transient: bool = False
) -> PushTrialReport:
    """Say that it could not, or that nobody knows, and why."""
    return PushTrialReport(
        id=spec.id, ok=False, code=code, message=message, hint=hint, is_transient=is_transient
    )


def _try(spec: PushTrialSpec, git: Git, place: Path, access: Access) -> None:
    """Go as far as a push goes without sending anything.

    Raises:
        TransientError: the remote cannot be reached now.
        Stop: it refuses us, or something is in the way.
    """
    url = spec.forge.push_url
    try:
        heads = _heads(git, url, access)
        _in_the_way(spec.branch, heads)
        sha = _commit(git, place, is_sha256=any(len(sha) == _SHA256_DIGITS for sha in heads.values()))
        args = ("push", "--dry-run", "--quiet", "--no-verify", "--no-signed", "--no-follow-tags")
        git.run(*args, "--", url, f"{sha}:refs/heads/{spec.branch}", git_dir=place, env=access.env)
    except GitError as exc:
        if exc.is_transient or exc.code != "git-rejected":
            raise remote.translated(exc, access) from exc
        raise branch.refusal(exc, access) from exc
    _writable(url)


def _heads(git: Git, url: str, access: Access) -> dict[str, str]:
    listed = git.run("ls-remote", "--quiet", "--heads", "--", url, env=access.env)
    rows = (line.partition(b"\t") for line in listed.split(b"\n") if line)
    return {os.fsdecode(name).removeprefix("refs/heads/"): value.decode() for value, _, name in rows}


def _in_the_way(name: str, heads: Mapping[str, str]) -> None:
    """Refuse where a branch is called like the folder of ours: git keeps no file and folder of one name."""
    parts = name.split("/")
    for depth in range(1, len(parts)):
        above = "/".join(parts[:depth])
        if above in heads:
            what = f"the remote has a branch {above!r}: no branch {above}/… can stand beside it"
            hint = f"rename or delete that branch: git push origin --delete {above}"
            raise Stop("branch-in-the-way", what, waiting_for="branch-conflict", hint=hint)


def _commit(git: Git, place: Path, *, is_sha256: bool) -> str:
    """Make an empty commit in a repository of its own: something to push must be there."""
    kind = "sha256" if is_sha256 else "sha1"
    git.run("init", "--quiet", "--bare", "--template=", f"--object-format={kind}", str(place))
    tree = git.run("hash-object", "-t", "tree", "-w", "--stdin", git_dir=place, stdin=b"").decode().strip()
    made = git.run("commit-tree", "-m", "never pushed", tree, git_dir=place, config=_AUTHOR)
    return made.decode().strip()


def _writable(url: str) -> None:
    """Look at a remote on this machine: a dry run does not notice that nothing can be written there."""
    parts = urlsplit(url)
    place = Path(unquote(parts.path) if parts.scheme == "file" else url)
    if not place.is_absolute():
        return
    repository = place / ".git" if (place / ".git").is_dir() else place
    for folder in (repository / "objects", repository / "refs"):
        if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
            what = f"{folder} cannot be written by this account"
            hint = f"chmod u+w {shlex.quote(str(folder))}"
            raise Stop("remote-read-only", what, waiting_for="configuration", hint=hint)
