"""What an earlier attempt left in the worktree: saved first, and carried on where it was interrupted.

Must not throw anything away: what is not carried on stays under its rescue ref and in the ticket's salvage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.git import GitError
from autopilot.config.paths import RESULT_FILE
from autopilot.runner.owned import maker_of
from autopilot.runner.salvage import RESCUE_REPOSITORY, Finding, UnsavedError, salvage
from autopilot.schemas.events import Event
from autopilot.schemas.run import Outcome, RunResult

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from autopilot.runner.shop import Shop
    from autopilot.runner.worktree import Workspace
    from autopilot.schemas.salvage import Salvage

LOST = "lost"
INTERRUPTED = frozenset(
    {
        LOST,
        *(Outcome.USAGE_LIMIT, Outcome.STOPPED, Outcome.TIMED_OUT, Outcome.OVER_CEILING),
        *(Outcome.OVER_BUDGET, Outcome.INFRASTRUCTURE, Outcome.CREDENTIAL),
    }
)
"""Ends that say nothing against the work done until then: paid for once, it is carried on."""
_MAX_RESULT_BYTES = 64 * 1024 * 1024
_MAX_NAMED = 20


@dataclass(frozen=True, slots=True)
class Earlier:
    """Saved work of an earlier attempt, how that one ended, and whether its files are in the new worktree."""

    saved: Salvage
    ended: str
    is_carried_on: bool = False

    def told(self) -> tuple[str, str]:
        """Say it to the agent: our words, and the names of the files, which are not ours."""
        how = "was lost in the middle" if self.ended == LOST else f"ended as {self.ended}"
        if self.is_carried_on:
            then = (
                "Its edits are in your folder already: look at them, keep what is right and finish the work."
            )
        else:
            where = self.saved.ref or "refs/rescue/agent/"
            then = f"Your folder is fresh; what it had done is kept under {where} of this repository."
        names = [f"- {path}" for path in self.saved.files[:_MAX_NAMED]]
        more = self.saved.changed_files - _MAX_NAMED
        listed = "\n".join([*names, *([f"- and {more} more"] if more > 0 else [])])
        return f"An earlier attempt at this ticket {how}. {then} It had changed:", listed


def save_earlier(shop: Shop) -> Earlier | None:
    """Save what stands in the worktree's place, before a new one is cut there.

    Raises:
        OSError: our own folders cannot be written.
    """
    spec = shop.spec
    record = maker_of(spec.worktree, runs=spec.run_dir.parent, ticket_id=spec.ticket_id)
    if record is None:
        return None
    run_dir = spec.run_dir.parent / record.run_id
    ended = _ended(run_dir)
    finding = Finding(
        record=record,
        folder=spec.worktree,
        run_dir=run_dir,
        mirror=spec.repo.mirror,
        place=spec.salvage_dir or spec.run_dir / "salvage",
        reason=f"the run {'was lost' if ended == LOST else f'ended as {ended}'}",
    )
    try:
        saved = salvage(shop.git, finding)
    except UnsavedError as exc:
        shop.notebook.warn(
            [f"what {record.run_id} left could not be saved and stays in a folder: {exc.what}"]
        )
        shop.tell(Event.WORK_KEPT, of=record.run_id, reason=exc.what)
        return None
    if saved.is_empty:
        return None
    shop.tell(
        Event.WORK_SALVAGED,
        of=record.run_id,
        ref=saved.ref,
        head=saved.head,
        files=saved.changed_files,
        agent_commits=list(saved.agent_commits),
        bundle=str(saved.bundle),
        ended=ended,
    )
    return Earlier(saved, ended)


def carry_on(shop: Shop, earlier: Earlier, workspace: Workspace, filters: Mapping[str, str]) -> Earlier:
    """Put the saved files into the fresh worktree where the earlier attempt was only interrupted.

    Must run before any agent does, and after git's list of the fresh worktree was taken.
    """
    try:
        _lend_refs(shop, _rescue_of(shop, earlier), workspace.repository)
        is_carried_on = earlier.ended in INTERRUPTED and _put_in(shop, earlier, workspace, filters)
    except GitError as exc:
        shop.notebook.warn([f"the work of {earlier.saved.run_id} could not be carried on: {exc.what}"])
        is_carried_on = False
    where = f"{earlier.saved.ref or 'its own commits'} in the ticket's salvage"
    did = "was carried on" if is_carried_on else "is kept"
    shop.notebook.warn([f"the work of {earlier.saved.run_id} ({earlier.ended}) {did}: {where}"])
    return Earlier(earlier.saved, earlier.ended, is_carried_on)


def _put_in(shop: Shop, earlier: Earlier, workspace: Workspace, filters: Mapping[str, str]) -> bool:
    """Write the saved tree's files; where the base has moved on, merged with it if nothing conflicts."""
    head, base, rescue = earlier.saved.head, workspace.base_sha, _rescue_of(shop, earlier)
    if head is None:
        return False
    git, env = shop.git, {"GIT_INDEX_FILE": str(rescue / "carry-on-index")}
    tree = f"{head}^{{tree}}"
    if earlier.saved.base_sha != base:
        # Source: git-merge-tree(1), 2.38: no work tree, and an exit code for conflicts. An older git refuses.
        tree = git.run("merge-tree", "--write-tree", base, head, git_dir=rescue).decode().split("\n")[0]
    git.run("read-tree", base, git_dir=rescue, env=env)
    git.run("update-index", "-q", "--refresh", git_dir=rescue, work_tree=workspace.worktree, env=env)
    git.run(
        *("read-tree", "-m", "-u", base, tree),
        git_dir=rescue,
        work_tree=workspace.worktree,
        env=env,
        config=filters,
    )
    return True


def _rescue_of(shop: Shop, earlier: Earlier) -> Path:
    return shop.spec.run_dir.parent / earlier.saved.run_id / RESCUE_REPOSITORY


def _lend_refs(shop: Shop, rescue: Path, repository: Path) -> None:
    """Let the agent look at the saved commits in its own repository, which nobody has touched yet."""
    shop.git.run(
        *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", str(rescue)),
        *("+refs/rescue/*:refs/rescue/*", "+refs/agent/*:refs/rescue/agent/*"),
        git_dir=repository,
    )


def _ended(run_dir: Path) -> str:
    try:
        raw = read_plain(run_dir / RESULT_FILE, max_bytes=_MAX_RESULT_BYTES)
        return RunResult.model_validate_json(raw).outcome.value
    except (UnreadableError, ValidationError):
        return LOST
