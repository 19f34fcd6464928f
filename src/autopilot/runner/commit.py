"""Turns a snapshot into the run's commit, and keeps what the agent committed by itself.

Must not take author, message or parents from the agent. Its own commits are fetched by their exact names and
stand under `refs/agent/` in our repository, so that nothing is lost; they are never published.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from autopilot.config.atomic import sync_tree
from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.git import GitError
from autopilot.runner.places import UPLOAD_PACK
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.runner.judge import Judge
    from autopilot.schemas.run import Identity

AGENT_REFS = "refs/agent/"
_MAX_KEPT = 50
_MAX_HEAD_BYTES = 4096
_MAX_READ_BYTES = 64 * 1024 * 1024
_READ_BY_GIT = ("HEAD", "config", "packed-refs", "shallow", "objects/info/alternates")
_PATIENCE_S = 60.0
"""A pipe among the refs keeps git waiting; the commit of the run does not depend on the agent's own."""
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class Kept:
    """The agent's own commits that are safe now, and what could not be kept."""

    shas: tuple[str, ...]
    notes: tuple[str, ...] = ()


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

    Source: upload-pack reads its own repository's configuration, but runs nothing of it (ADR 0021).

    Raises:
        GitError: our own repository cannot be used.
    """
    repository = judge.workspace.repository
    if fault := _fault_of(repository):
        return Kept((), (f"the agent's repository cannot be read: {fault}",))
    judge = replace(judge, git=replace(judge.git, timeout_s=min(judge.git.timeout_s, _PATIENCE_S)))
    try:
        named = _named_by_refs(judge)
    except GitError as exc:
        return Kept((), (f"the agent's repository cannot be read: {exc.what}",))
    wanted = [
        sha for sha in dict.fromkeys((*_head(judge, named), *named.values())) if not has_commit(judge, sha)
    ]
    kept, notes = [], []
    for number, sha in enumerate(wanted[:_MAX_KEPT], start=1):
        try:
            judge.git.run(
                *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"),
                *(UPLOAD_PACK, "--", str(repository), f"{sha}:{AGENT_REFS}{number}"),
                git_dir=judge.place,
            )
            kept.append(sha)
        except GitError as exc:
            notes.append(f"the agent's commit {sha[:12]} could not be kept: {exc.what}")
            if exc.code == "git-timeout":
                break
    if len(wanted) > _MAX_KEPT:
        notes.append(f"{len(wanted) - _MAX_KEPT} more commits of the agent are only in its own repository")
    return Kept(tuple(kept), tuple(notes))


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


def _named_by_refs(judge: Judge) -> dict[str, str]:
    out = judge.git.run("ls-remote", "--refs", "--", str(judge.workspace.repository))
    pairs = (line.partition("\t") for line in os.fsdecode(out).splitlines())
    return {name: sha for sha, _, name in pairs if _SHA.fullmatch(sha)}


def _head(judge: Judge, named: dict[str, str]) -> list[str]:
    """Read where the worktree's HEAD stands, as data: a commit's name, or a ref's."""
    try:
        raw = read_plain(judge.workspace.admin / "HEAD", max_bytes=_MAX_HEAD_BYTES)
    except UnreadableError:
        return []
    text = os.fsdecode(raw).strip()
    if _SHA.fullmatch(text):
        return [text]
    sha = named.get(text.removeprefix("ref:").strip())
    return [sha] if sha else []


def has_commit(judge: Judge, sha: str) -> bool:
    """Tell whether our repository has a commit, its own or borrowed."""
    try:
        judge.git.run("cat-file", "-e", sha, git_dir=judge.place)
    except GitError:
        return False
    return True
