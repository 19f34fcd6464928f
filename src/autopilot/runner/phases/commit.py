"""Phase 4, Commit: the worktree's files become one commit of ours.

Must not commit what cannot be published, and must not lose what the agent committed by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config.rights import give_back
from autopilot.runner.changes import scope_of
from autopilot.runner.commit import commit_tree, keep_agents_commits, left_behind
from autopilot.runner.failure import RunFailure, reading_the_agents
from autopilot.runner.leaks import leaks, own_secrets
from autopilot.runner.message import commit_message
from autopilot.runner.sparse import absent_by_sparse_checkout
from autopilot.runner.tripwire import differences, fingerprint
from autopilot.runner.unfinished import conflicts
from autopilot.schemas.events import Event
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from autopilot.runner.judge import Snapshot
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
    with reading_the_agents():
        _open_again(shop, ready)
        changed = differences(ready.fingerprint, fingerprint(ready.workspace))
    _tell_changes(shop, ready, changed)
    if ready.workspace.worktree.is_symlink() or not ready.workspace.worktree.is_dir():
        raise RunFailure(Outcome.AGENT_FAILED, "worktree-gone", "the agent has removed its own worktree")
    if changed:
        raise _tampered(changed)
    ready.judge.renew()
    with reading_the_agents():
        kept = keep_agents_commits(ready.judge)
        if kept.links:
            raise _tampered(tuple(f"{name}, a link" for name in kept.links))
        snapshot = ready.judge.snapshot(ready.pristine, absent=absent_by_sparse_checkout(ready.judge))
        problems = snapshot.problems or _faults(shop, ready, snapshot)
    shop.notebook.warn((*kept.notes, *left_behind(kept), *snapshot.notes))
    if problems or not snapshot.is_changed:
        if kept.shas and not snapshot.is_changed:
            shop.notebook.warn(
                ["the agent's own commits are kept (judge.git), though its folder shows none of them"]
            )
        return Taken(None, snapshot.tree, problems)
    return Taken(_commit(shop, ready, tree=snapshot.tree, summary=summary), snapshot.tree)


def _faults(shop: Shop, ready: Ready, snapshot: Snapshot) -> tuple[str, ...]:
    """Look for what must not get into a commit; the agent is told, and can take it out."""
    if not snapshot.is_changed:
        return ()
    place, base = ready.judge.place, ready.workspace.base_sha
    return (
        *leaks(shop.git, place, base=base, tree=snapshot.tree, secrets=own_secrets(shop.spec.agent)),
        *conflicts(shop.git, place, base=base, tree=snapshot.tree),
    )


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


def _open_again(shop: Shop, ready: Ready) -> None:
    """Give ourselves the rights on the folders that were the agent's own; it may have closed them to us."""
    run_dir, there = shop.spec.run_dir, ready.workspace
    own = (there.repository / name for name in ("objects", "refs", "logs"))
    give_back(there.worktree, *own, there.admin, run_dir / "home", run_dir / "tmp")


def _tell_changes(shop: Shop, ready: Ready, changed: tuple[str, ...]) -> None:
    """Tell what was done to how the repositories behave; mend the one thing in the user's that we may."""
    if changed:
        names = ", ".join(changed[:_MAX_NAMED])
        shop.notebook.warn([f"the agent changed the set-up of its repository: {names}"])
        shop.tell(Event.CONFIG_RESTORED, files=list(changed[:_MAX_NAMED]), whose="run", restored=False)
    told = ready.user_config.mend(shop.git) if ready.user_config else ()
    if told:
        shop.notebook.warn(told)
        shop.tell(Event.CONFIG_RESTORED, what=list(told), whose="user", restored=len(told) > 1)


def _tampered(changed: tuple[str, ...]) -> RunFailure:
    names = ", ".join(changed[:_MAX_NAMED])
    what = f"the agent changed how git behaves in its repository ({names}): nothing of this run counts"
    hint = "look at its log; a sandbox other than none does not let it"
    return RunFailure(Outcome.AGENT_FAILED, "repository-tampered", what, hint=hint)
