"""Phase 4, Commit: the worktree's files become one commit of ours.

Must not commit what cannot be published, and must not lose what the agent committed by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.runner.changes import scope_of
from autopilot.runner.commit import commit_tree, keep_agents_commits
from autopilot.runner.failure import RunFailure
from autopilot.runner.judge import absent_by_sparse_checkout
from autopilot.runner.message import commit_message
from autopilot.runner.tripwire import differences, fingerprint
from autopilot.schemas.events import Event
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from autopilot.runner.phases.init import Ready
    from autopilot.runner.shop import Shop

_MAX_NAMED = 10


@dataclass(frozen=True, slots=True)
class Taken:
    """A commit, or why there is none: no change at all, or problems that the agent can mend."""

    head: str | None
    tree: str
    problems: tuple[str, ...] = ()


def take(shop: Shop, ready: Ready, *, summary: str) -> Taken:
    """Make the commit of what the worktree holds now.

    Raises:
        RunFailure: the worktree is gone, or how its repository behaves was changed; agent-failed.
        GitError, OSError: our own repository cannot be used.
    """
    changed = _watch_repositories(shop, ready)
    if ready.workspace.worktree.is_symlink() or not ready.workspace.worktree.is_dir():
        raise RunFailure(Outcome.AGENT_FAILED, "worktree-gone", "the agent has removed its own worktree")
    if changed:
        raise _tampered(changed)
    ready.judge.renew()
    kept = keep_agents_commits(ready.judge)
    snapshot = ready.judge.snapshot(ready.pristine, absent=absent_by_sparse_checkout(ready.judge))
    shop.notebook.warn((*kept.notes, *snapshot.notes))
    if snapshot.problems or not snapshot.is_changed:
        if kept.shas and not snapshot.is_changed:
            shop.notebook.warn(
                ["the agent's own commits are kept (judge.git), though its folder shows none of them"]
            )
        return Taken(None, snapshot.tree, snapshot.problems)
    return Taken(_commit(shop, ready, tree=snapshot.tree, summary=summary), snapshot.tree)


def _commit(shop: Shop, ready: Ready, *, tree: str, summary: str) -> str:
    spec = shop.spec
    head = commit_tree(
        ready.judge,
        tree=tree,
        branch=spec.branch,
        message=commit_message(spec, summary),
        identity=spec.identity,
        now_ms=shop.clock.now_ms(),
    )
    shop.notebook.head = head
    shop.notebook.scope = scope_of(shop.git, ready.judge.place, base=ready.workspace.base_sha, head=head)
    shop.tell(Event.COMMIT_MADE, head=head, files=len(shop.notebook.scope))
    return head


def _watch_repositories(shop: Shop, ready: Ready) -> tuple[str, ...]:
    """Tell what was done to how the repositories behave; mend the one thing in the user's that we may."""
    changed = differences(ready.fingerprint, fingerprint(ready.workspace))
    if changed:
        names = ", ".join(changed[:_MAX_NAMED])
        shop.notebook.warn([f"the agent changed the set-up of its repository: {names}"])
        shop.tell(Event.CONFIG_RESTORED, files=list(changed[:_MAX_NAMED]), whose="run", restored=False)
    told = ready.user_config.mend(shop.git) if ready.user_config else ()
    if told:
        shop.notebook.warn(told)
        shop.tell(Event.CONFIG_RESTORED, what=list(told), whose="user", restored=len(told) > 1)
    return changed


def _tampered(changed: tuple[str, ...]) -> RunFailure:
    names = ", ".join(changed[:_MAX_NAMED])
    what = f"the agent changed how git behaves in its repository ({names}): nothing of this run counts"
    hint = "look at its log; a sandbox other than none does not let it"
    return RunFailure(Outcome.AGENT_FAILED, "repository-tampered", what, hint=hint)
