"""Turns a snapshot into the run's commit, and keeps what the agent committed by itself.

Must not take author, message or parents from the agent. Its own commits are fetched by their exact names and
stand under `refs/agent/` in our repository, so that nothing is lost; they are never published.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from autopilot.config.atomic import sync_tree
from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.git import GitError
from autopilot.config.removal import remove_tree
from autopilot.runner.replica import SHA, ForeignError, replicate
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from autopilot.runner.judge import Judge
    from autopilot.runner.replica import Replica
    from autopilot.schemas.run import Identity

AGENT_REFS = "refs/agent/"
_MAX_KEPT, _MAX_ASKED = 50, 1000
_REPLICA = "theirs.git"
_MAX_HEAD_BYTES = 4096
_MAX_READ_BYTES = 64 * 1024 * 1024
_READ_BY_GIT = ("HEAD", "config", "packed-refs", "shallow", "objects/info/alternates")
_PATIENCE_S = 60.0
"""The commit of the run does not depend on the agent's own."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The agent's own commits that are safe now, and what could not be kept."""

    shas: tuple[str, ...]
    notes: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    """Where its repository leads out of itself: nothing was read there."""
    others: tuple[str, ...] = ()
    """Pipes and the like in it."""


def commit_tree(
    judge: Judge, *, tree: str, branch: str, message: str, identity: Identity, now_ms: int
) -> str:
    """Make the commit on the base and point the branch of our repository at it.

    Raises:
        GitError, OSError: it could not be made, or not flushed to the disk.
    """
    when = f"@{now_ms // MS_PER_S} +0000"
    env = {
        "GIT_AUTHOR_NAME": identity.name,
        "GIT_AUTHOR_EMAIL": identity.email,
        "GIT_AUTHOR_DATE": when,
        "GIT_COMMITTER_NAME": identity.name,
        "GIT_COMMITTER_EMAIL": identity.email,
        "GIT_COMMITTER_DATE": when,
    }
    made = judge.git.run(
        *("commit-tree", tree, "-p", judge.workspace.base_sha, "-F", "-"),
        git_dir=judge.place,
        stdin=message.encode("utf-8", "replace"),
        env=env,
    )
    sha = made.decode().strip()
    judge.git.run("update-ref", f"refs/heads/{branch}", sha, git_dir=judge.place)
    sync_tree(
        judge.place
    )  # git flushes neither loose objects nor names: a power cut would take what was paid for
    return sha


def keep_agents_commits(judge: Judge) -> Kept:
    """Fetch every commit that the agent's HEAD or refs name and that the base does not hold.

    Our git reads a replica; of the agent's own repository only plain files count (ADR 0156).

    Raises:
        GitError: our own repository cannot be used.
    """
    repository = judge.workspace.repository
    if fault := _fault_of(repository):
        return Kept((), (_unread(fault),))
    patient = replace(judge.git, timeout_s=min(judge.git.timeout_s, _PATIENCE_S))
    judge = replace(judge, git=patient)
    place = judge.place / _REPLICA
    try:
        remove_tree(place)
        replica = replicate(
            patient,
            repository.parent,
            repository.name,
            place=place,
            mirror=judge.mirror,
            sha=judge.workspace.base_sha,
        )
        return _kept(judge, replica)
    except (ForeignError, GitError) as exc:
        return Kept((), (_unread(exc.what if isinstance(exc, GitError) else str(exc)),))
    finally:
        remove_tree(place)


def left_behind(kept: Kept) -> tuple[str, ...]:
    """Say what of the agent's repository was not read, for it is no work."""
    names = ", ".join((*kept.links, *kept.others))
    return (f"what is no plain file in the agent's repository was left behind: {names}",) if names else ()


def _unread(why: str) -> str:
    return f"the agent's repository cannot be read: {why}"


def _kept(judge: Judge, replica: Replica) -> Kept:
    named = replica.named(judge.git)
    unique = list(dict.fromkeys((*_head(judge, named), *named.values())))
    wanted = unknown(judge, unique[:_MAX_ASKED])
    kept, notes = [], []
    for number, sha in enumerate(wanted[:_MAX_KEPT], start=1):
        try:
            judge.git.run(
                *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"),
                *("--", str(replica.place), f"{sha}:{AGENT_REFS}{number}"),
                git_dir=judge.place,
            )
            kept.append(sha)
        except GitError as exc:
            notes.append(f"the agent's commit {sha[:12]} could not be kept: {exc.what}")
            if exc.code == "git-timeout":
                break
    if left := len(wanted[_MAX_KEPT:]) + len(unique[_MAX_ASKED:]):
        notes.append(f"{left} more commits of the agent are only in its own repository")
    return Kept(tuple(kept), tuple(notes), links=replica.links, others=replica.others)


def _fault_of(repository: Path) -> str | None:
    """Say which file of the agent's repository would keep git waiting or fill its memory."""
    for name in _READ_BY_GIT:
        path = repository / name
        if not os.path.lexists(path):
            continue
        try:
            read_plain(path, max_bytes=_MAX_READ_BYTES)
        except UnreadableError as exc:
            return f"{name}: {exc}"
    return None


def _head(judge: Judge, named: dict[str, str]) -> list[str]:
    """Read where the worktree's HEAD stands, as data: a commit's name, or a ref's."""
    try:
        raw = read_plain(judge.workspace.admin / "HEAD", max_bytes=_MAX_HEAD_BYTES)
    except UnreadableError:
        return []
    text = os.fsdecode(raw).strip()
    if SHA.fullmatch(text):
        return [text]
    sha = named.get(text.removeprefix("ref:").strip())
    return [sha] if sha else []


def unknown(judge: Judge, shas: Sequence[str]) -> list[str]:
    """Give those objects that our repository has not, neither its own nor borrowed.

    Raises:
        GitError: it cannot be asked.
    """
    if not shas:
        return []
    asked = "".join(f"{sha}\n" for sha in shas).encode()
    told = judge.git.run("cat-file", "--batch-check", git_dir=judge.place, stdin=asked).decode().splitlines()
    missing = {line.removesuffix(" missing") for line in told if line.endswith(" missing")}
    return [sha for sha in shas if sha in missing]
