"""Cuts the ticket's worktree: a private repository, a fresh branch at the base commit, the files.

Must not touch the user's checkout, go on in another folder when this one cannot be made, or destroy what an
earlier attempt left: that is moved aside. After the agent has started, no git of ours runs in here.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.git import GitError
from autopilot.config.rights import give_back
from autopilot.runner.failure import RunFailure
from autopilot.runner.owned import write_down
from autopilot.runner.places import make_borrower
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.config.git import Git
    from autopilot.schemas.run import RunSpec

TRASH = ".trash"
# What git-lfs's own `git lfs install` would write; without it a file stays a pointer.
LFS_CONFIG: Mapping[str, str] = {
    "filter.lfs.process": "git-lfs filter-process",
    "filter.lfs.smudge": "git-lfs smudge -- %f",
    "filter.lfs.clean": "git-lfs clean -- %f",
    "filter.lfs.required": "true",
}


@dataclass(frozen=True, slots=True)
class Workspace:
    """The worktree, its private repository, its administration there, and the file that links the two."""

    worktree: Path
    repository: Path
    admin: Path
    link: bytes
    base_sha: str


def cut(
    git: Git, spec: RunSpec, *, base: str, base_sha: str, config: Mapping[str, str] | None = None
) -> Workspace:
    """Make the worktree on a fresh branch at the base commit.

    Args:
        git: our git; with the user's credentials where a filter must fetch files.
        spec: the run.
        base: name of the base branch, which the agent finds as `origin/<base>`.
        base_sha: its commit, in the mirror.
        config: filters that the checkout needs.

    Raises:
        RunFailure: it could not be made; nothing of it is left. Infrastructure.
    """
    repository = spec.run_dir / "repo.git"
    try:
        make_borrower(git, repository, mirror=spec.repo.mirror, sha=base_sha)
        git.run("update-ref", f"refs/remotes/origin/{base}", base_sha, git_dir=repository)
        move_to_trash(spec.worktree, spec.run_id)
        spec.worktree.parent.mkdir(parents=True, exist_ok=True)
    except (GitError, OSError) as exc:
        raise _failed(spec, exc) from exc
    try:
        git.run(
            *("worktree", "add", "--quiet", "--no-track", "--no-guess-remote"),
            *("-b", spec.branch, "--", str(spec.worktree), base_sha),
            git_dir=repository,
            config={"checkout.workers": "0", **(config or {})},
        )
        workspace = _checked(git, spec.worktree, repository, base_sha)
        write_down(spec, base=base, base_sha=base_sha, uses_lfs=bool(config), now_ms=git.clock.now_ms())
        return workspace
    except (GitError, OSError, RunFailure) as exc:
        # Made by this call a moment ago, and no agent has been in it: nothing of anybody's is lost.
        shutil.rmtree(spec.worktree, ignore_errors=True)
        raise _failed(spec, exc) from exc


def move_to_trash(worktree: Path, run_id: str) -> Path | None:
    """Move what stands in the worktree's place out of the way; nothing in it is lost.

    Returns:
        Where it is now, or None when the place was free.

    Raises:
        OSError: it could not be moved.
    """
    if not worktree.is_symlink() and not worktree.exists():
        return None
    trash = worktree.parent / TRASH
    trash.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = trash / f"{worktree.name}-before-{run_id}"
    number = 0
    while place.exists() or place.is_symlink():
        number += 1
        place = trash / f"{worktree.name}-before-{run_id}-{number}"
    give_back(worktree)  # a folder that is closed to us cannot be moved
    worktree.rename(place)
    return place


def check_place(workspace: Workspace) -> None:
    """Make sure that the folder still is the worktree: asked before anything is started or read there.

    It runs no git: an agent may have been in there.

    Raises:
        RunFailure: it is gone, is no folder, or is linked to another repository; infrastructure.
    """
    place = workspace.worktree
    if place.is_symlink() or not place.is_dir():
        raise _misplaced(f"{place} is not there or no folder")
    link = place / ".git"
    try:
        is_ours = read_plain(link, max_bytes=len(workspace.link)) == workspace.link
    except UnreadableError:
        is_ours = False
    if not is_ours:
        raise _misplaced(f"{place} is not linked to its repository any more")


def _checked(git: Git, worktree: Path, repository: Path, base_sha: str) -> Workspace:
    """Ask git whether the new folder is what we think. Source: git-rev-parse(1), `--show-toplevel`."""
    out = git.run(
        "rev-parse", "--path-format=absolute", "--show-toplevel", "--absolute-git-dir", cwd=worktree
    )
    top, _, admin = os.fsdecode(out.rstrip(b"\n")).rpartition("\n")
    if Path(top).resolve() != worktree.resolve() or not Path(admin).resolve().is_relative_to(
        repository.resolve()
    ):
        raise _misplaced(f"{worktree} became a worktree of {admin}")
    link = (worktree / ".git").read_bytes()
    workspace = Workspace(worktree, repository, Path(admin), link, base_sha)
    check_place(workspace)
    return workspace


def _misplaced(what: str) -> RunFailure:
    return RunFailure(Outcome.INFRASTRUCTURE, "worktree-misplaced", what, hint="the ticket is tried again")


def _failed(spec: RunSpec, exc: Exception) -> RunFailure:
    said = exc.what if isinstance(exc, GitError | RunFailure) else str(exc)
    what = f"no worktree for {spec.ticket_id}, so no run: {said}"
    return RunFailure(Outcome.INFRASTRUCTURE, "worktree-failed", what, hint="the agent was not started")
