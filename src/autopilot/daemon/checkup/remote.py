"""Whether a repository's remote answers, and whether a branch of ours could be pushed to it.

The push is tried by a child of the publisher's part: the forge's token is in nobody else's reach. Must not
change anything there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.git import Git, GitError
from autopilot.daemon import specs
from autopilot.daemon.checkup.check import blocked, ok
from autopilot.daemon.errand import Errand
from autopilot.daemon.question import answer
from autopilot.schemas.publication import PushTrialReport, PushTrialSpec

if TYPE_CHECKING:
    from autopilot.config.repository import Repo
    from autopilot.daemon.checkup.probe import Limit
    from autopilot.daemon.checkup.scene import Scene
    from autopilot.schemas.checkup import Check

BRANCH = "autopilot/rehearsal"
_REMOTE_S = 15.0
_SHOWN_SHA = 12
_START_S = 15.0
"""What the child itself may take, beside the remote."""


def git_of(scene: Scene, limit: Limit) -> Git:
    """Give git as whoever starts the runs has it, for questions to a remote and about one."""
    return Git(
        scene.clock,
        scratch=scene.paths.state,
        timeout_s=_REMOTE_S,
        grace_s=1.0,
        user_config=True,
        base=scene.runner.surroundings,
        should_stop=limit.should_stop,
    )


def answers(repo: Repo, scene: Scene, limit: Limit) -> Check:
    """Ask the remote for the tip of the base branch."""
    label = f"repository {repo.name}"
    git = git_of(scene, limit)
    wanted = f"refs/heads/{repo.base}" if repo.base else "HEAD"
    try:
        answer = git.run("ls-remote", "--", repo.fetch_from, wanted, cwd=scene.paths.state)
    except GitError as error:
        return blocked(label, error.what, error.hint or f"try: git ls-remote {repo.fetch_from}")
    if not answer.strip():
        return blocked(label, f"the remote has no {wanted}", "set base to a branch that exists")
    return ok(label, f"{repo.fetch_from} answers; {wanted} is {answer[:_SHOWN_SHA].decode()}")


def takes_our_branch(repo: Repo, scene: Scene, limit: Limit) -> Check:
    """Have a push tried."""
    label, trial = f"push to {repo.name}", f"try-{repo.name}"
    spec = specs.forge_spec(repo, scene.paths)
    report = answer(
        "try",
        lambda told, workdir: PushTrialSpec(
            id=trial,
            report=told,
            workdir=workdir,
            forge=spec,
            branch=BRANCH,
            wall_s=_REMOTE_S,
        ),
        PushTrialReport,
        key=trial,
        errand=Errand.to_forge(spec),
        clock=scene.clock,
        wall_s=_REMOTE_S + _START_S,
        should_stop=limit.should_stop,
        base=scene.runner.surroundings,
    )
    if isinstance(report, str):
        return blocked(label, report, f"try: git push --dry-run {repo.push_to} HEAD:refs/heads/{BRANCH}")
    if report.ok:
        return ok(label, f"{repo.push_to} would take a branch autopilot/…")
    return blocked(label, f"{report.message} [{report.code}]", report.hint or "ask again when it answers")
