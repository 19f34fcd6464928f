"""What the agent of a run may touch: its worktree, and of its repository what a commit needs.

Must not let it change how git behaves there: configuration, hooks, borrowing, replacing, and the files that
link worktree and repository. Source: docs/decisions/0115, where each was tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.sandbox.confinement import Confinement

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from autopilot.runner.worktree import Workspace
    from autopilot.schemas.run import RunSpec


def room_of_agent(
    spec: RunSpec,
    workspace: Workspace,
    *,
    program: str,
    readable: Iterable[Path] = (),
    writable: Iterable[Path] = (),
) -> Confinement:
    """Lay out what an agent may touch, and make the folders that must be there to be protected.

    Args:
        spec: the run.
        workspace: its worktree and repository.
        program: the agent's program, as it is started.
        readable: files of ours that it is to read: prompt, script.
        writable: folders of ours that are its own.

    Raises:
        OSError: a folder cannot be made.
    """
    repository, admin = workspace.repository, workspace.admin
    home, scratch = spec.run_dir / "home", spec.run_dir / "tmp"
    own = [repository / name for name in ("objects", "refs", "logs")]
    # Made before anybody is in there: what is missing could be made by the agent.
    closed = [repository / name for name in ("objects/info", "refs/replace", "refs/remotes")]
    for folder in (*own, *closed):
        folder.mkdir(mode=0o700, exist_ok=True)
    return Confinement(
        cwd=workspace.worktree,
        home=home,
        readable=(repository, (spec.repo.mirror / "objects").resolve(), *readable),
        writable=(workspace.worktree, home, scratch, *own, admin, *writable),
        protected=(workspace.worktree / ".git", *closed, admin / "commondir", admin / "gitdir"),
        programs=(program,),
    )
