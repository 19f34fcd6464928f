"""Phase 0, Init: the base commit, what the repository says about itself, and the worktree.

Must not start an agent, and must find everything out that would make paying one pointless.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config.environ import current, search_path
from autopilot.config.paths import JUDGE_REPOSITORY
from autopilot.runner.agents.registry import kind_of, new_agent, program_of
from autopilot.runner.agents.release import refusal
from autopilot.runner.earlier import carry_on, save_earlier
from autopilot.runner.failure import RunFailure
from autopilot.runner.judge import Judge
from autopilot.runner.mirror import fetch_base
from autopilot.runner.policy import policy_of
from autopilot.runner.preflight import check_branch, check_lfs, uses_lfs
from autopilot.runner.remote import choose_base, look_at
from autopilot.runner.stacks.registry import choose
from autopilot.runner.stacks.tree import Tree
from autopilot.runner.tripwire import UserConfig, fingerprint
from autopilot.runner.worktree import LFS_CONFIG, cut
from autopilot.schemas.events import Event
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.earlier import Earlier
    from autopilot.runner.judge import Pristine
    from autopilot.runner.shop import Shop
    from autopilot.runner.stacks.stack import Stack
    from autopilot.runner.worktree import Workspace
    from autopilot.schemas.policy import Policy


@dataclass(frozen=True, slots=True)
class Ready:
    """Everything is there for an agent to begin."""

    base: Tree
    policy: Policy
    stack: Stack
    workspace: Workspace
    judge: Judge
    pristine: Pristine
    fingerprint: Mapping[str, str]
    user_config: UserConfig | None
    earlier: Earlier | None = None


def prepare(shop: Shop) -> Ready:
    """Make everything ready.

    Raises:
        AutopilotError: it cannot be; no agent was started and no worktree is left half-made.
    """
    spec = shop.spec
    shop.sandbox.check()
    check_agent(shop)
    base_sha = _fetch(shop)
    base = Tree.at(shop.git, spec.repo.mirror, base_sha)
    policy = policy_of(base)
    stack = choose(base, policy)
    shop.notebook.stack = stack.name
    user_config = UserConfig.note(shop.git, spec.repo.url)
    earlier = save_earlier(shop)
    workspace, filters = _cut(shop, base_sha, policy)
    judge = Judge(shop.git, spec.run_dir / JUDGE_REPOSITORY, spec.repo.mirror, workspace, filters)
    pristine = judge.prepare()
    if pristine.dirt:
        shop.notebook.warn([f"{len(pristine.dirt)} files differed from the base before the agent came"])
    if earlier is not None:
        earlier = carry_on(shop, earlier, workspace, filters)
    marks = fingerprint(workspace)
    return Ready(base, policy, stack, workspace, judge, pristine, marks, user_config, earlier)


def check_agent(shop: Shop) -> None:
    """Make sure that the agent can be started at all.

    Raises:
        RunFailure: its program is not there, or too old for our guard: agent-missing, agent-too-old.
        ConfigError: its configuration cannot work.
    """
    agent = shop.spec.agent
    new_agent(agent).check(agent)
    program = program_of(agent)
    if program is not None and shutil.which(program, path=search_path(current())) is None:
        what = f"the program {program!r} of the agent {agent.name!r} is not there"
        hint = "install it where the daemon's PATH finds it, or set argv of the agent"
        raise RunFailure(Outcome.AGENT_MISSING, "agent-missing", what, hint=hint)
    need = kind_of(agent).need
    if program is None or need is None:
        return
    refused = refusal(agent.argv or (program,), need, clock=shop.clock, folder=shop.spec.run_dir / "tmp")
    if refused is not None:
        raise RunFailure(Outcome.CONFIGURATION, refused.code, refused.what, hint=refused.hint)


def _fetch(shop: Shop) -> str:
    """Choose the base, check the branch's name beside the remote's, and bring the base here."""
    spec, notebook = shop.spec, shop.notebook
    remote = look_at(shop.network, spec.repo.url)
    base = choose_base(spec.repo, remote)
    notebook.base = base
    notebook.warn(base.warnings)
    check_branch(spec.branch, remote.branches)
    notebook.base_sha = fetch_base(
        shop.git,
        shop.network,
        spec.repo,
        base=base,
        remote=remote,
        on_lock_removed=lambda path: shop.tell(Event.LOCK_REMOVED, path=str(path)),
    )
    shop.chronicle.note({"baseBranch": base.name, "baseBranchSource": base.source})
    return notebook.base_sha


def _cut(shop: Shop, base_sha: str, policy: Policy) -> tuple[Workspace, Mapping[str, str]]:
    spec, base = shop.spec, shop.notebook.base
    is_lfs = uses_lfs(shop.git, spec.repo.mirror, base_sha)
    program = shutil.which("git-lfs", path=search_path(current()))
    shop.notebook.warn(check_lfs(is_used=is_lfs, program=program, policy=policy.lfs))
    filters = LFS_CONFIG if is_lfs and policy.lfs == "require" else {}
    # Files of git-lfs come from the user's remote: with their credentials, and from the remote's own address.
    git = shop.network if filters else shop.git
    config = {**filters, "remote.origin.url": spec.repo.url} if filters else {}
    workspace = cut(git, spec, base=base.name if base else "base", base_sha=base_sha, config=config)
    shop.tell(Event.WORKTREE_CREATED, path=str(spec.worktree), branch=spec.branch, base_sha=base_sha)
    return workspace, filters
