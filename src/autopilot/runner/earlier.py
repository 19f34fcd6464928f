"""What an earlier attempt left in the worktree: saved first, and carried on where it was interrupted.

Must not throw anything away: what is not carried on stays under its rescue ref and in the ticket's salvage.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.git import GitError
from autopilot.config.paths import RESULT_FILE
from autopilot.runner.bundles import UnsavedError
from autopilot.runner.owned import maker_of
from autopilot.runner.salvage import RESCUE_REPOSITORY, Finding, salvage, salvages
from autopilot.schemas.events import Event
from autopilot.schemas.run import Outcome, RunResult

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from autopilot.runner.shop import Shop
    from autopilot.runner.worktree import Workspace
    from autopilot.schemas.salvage import Salvage, WorktreeRecord

LOST = "lost"
INTERRUPTED = frozenset(
    {
        LOST,
        *(Outcome.USAGE_LIMIT, Outcome.STOPPED, Outcome.TIMED_OUT, Outcome.OVER_CEILING),
        *(Outcome.OVER_BUDGET, Outcome.INFRASTRUCTURE, Outcome.CREDENTIAL),
    }
)
"""Ends that say nothing against the work done until then: paid for once, it is carried on."""
CARRY_ON_INDEX = "carry-on-index"
_ATTEMPT = re.compile(r"-a([0-9]+)-")
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
    """Save what stands in the worktree's place, before a new one is cut there; give what to carry on.

    That is the work of the last attempt whose agent had begun: one that ended before, because no worktree
    could be made for instance, holds nothing but parts of what it should have carried on itself.

    Raises:
        OSError: our own folders cannot be written.
    """
    spec = shop.spec
    record = maker_of(spec.worktree, runs=spec.run_dir.parent, ticket_id=spec.ticket_id)
    standing = _saved(shop, record) if record is not None else None
    last = _last_begun(shop)
    if record is not None and record.run_id == last:
        chosen = standing
    else:
        chosen = _saved_before(shop, last) or standing
    if chosen is None:
        return None
    ended = _ended(spec.run_dir.parent / chosen.run_id)
    if standing is None or chosen.run_id != standing.run_id:
        _tell(shop, chosen, ended)
    return Earlier(chosen, ended)


def _saved(shop: Shop, record: WorktreeRecord) -> Salvage | None:
    """Save the worktree that a run made and that stands in our place; None where nothing is to be saved."""
    spec = shop.spec
    run_dir = spec.run_dir.parent / record.run_id
    ended = _ended(run_dir)
    finding = Finding(
        record=record,
        folder=spec.worktree,
        run_dir=run_dir,
        mirror=spec.repo.mirror,
        place=_place(shop),
        reason=f"the run {'was lost' if ended == LOST else f'ended as {ended}'}",
    )
    try:
        saved: Salvage | None = salvage(shop.git, finding)
    except UnsavedError as exc:
        saved = _kept(shop, record, exc)
    if saved is None or saved.is_empty:
        return None
    _tell(shop, saved, ended)
    return saved


def _kept(shop: Shop, record: WorktreeRecord, exc: UnsavedError) -> Salvage | None:
    """Say what stays in a folder because it could not be saved; give what could be."""
    told = exc.unsaved()
    more = [f"and {len(told) - _MAX_NAMED} more"] if len(told) > _MAX_NAMED else []
    named = "; ".join([*told[:_MAX_NAMED], *more])
    shop.notebook.warn([f"what {record.run_id} left could not be saved whole and stays in a folder: {named}"])
    shop.tell(Event.WORK_KEPT, of=record.run_id, reason=exc.what, unsaved=list(told[:_MAX_NAMED]))
    return exc.rest


def _saved_before(shop: Shop, last: str | None) -> Salvage | None:
    """Give what an earlier attempt's work was saved as; of no attempt in particular, the first of all."""
    runs = shop.spec.run_dir.parent
    found = [
        one
        for one in salvages(_place(shop))
        if one.run_id != shop.spec.run_id
        and one.ticket_id == shop.spec.ticket_id
        and last in {None, one.run_id}
        and (runs / one.run_id / RESCUE_REPOSITORY).is_dir()
    ]
    chosen = (found[-1] if last is not None else found[0]) if found else None
    return None if chosen is None or chosen.is_empty else chosen


def _last_begun(shop: Shop) -> str | None:
    """Name the last of the ticket's earlier runs whose agent was given its prompt."""
    runs = shop.spec.run_dir.parent.glob(f"{shop.spec.ticket_id}-a*")
    begun = [
        (int(number[1]), run.name)
        for run in runs
        if run != shop.spec.run_dir
        and (number := _ATTEMPT.search(run.name)) is not None
        and _has_agent_begun(shop, run.name)
    ]
    return max(begun)[1] if begun else None


def _has_agent_begun(shop: Shop, run_id: str) -> bool:
    return (shop.spec.run_dir.parent / run_id / "prompt-1.md").is_file()


def _place(shop: Shop) -> Path:
    return shop.spec.salvage_dir or shop.spec.run_dir / "salvage"


def _tell(shop: Shop, saved: Salvage, ended: str) -> None:
    shop.tell(
        Event.WORK_SALVAGED,
        of=saved.run_id,
        ref=saved.ref,
        head=saved.head,
        files=saved.changed_files,
        agent_commits=list(saved.agent_commits),
        bundle=str(saved.bundle),
        ended=ended,
    )


def carry_on(shop: Shop, earlier: Earlier, workspace: Workspace, filters: Mapping[str, str]) -> Earlier:
    """Put the saved files into the fresh worktree where the earlier attempt was only interrupted.

    Must run before any agent does, and after git's list of the fresh worktree was taken.
    """
    try:
        _lend_refs(shop, _rescue_of(shop, earlier), workspace.repository)
        is_carried_on = earlier.ended in INTERRUPTED and _put_in(shop, earlier, workspace, filters)
    except GitError as exc:
        shop.notebook.warn([f"the work of {earlier.saved.run_id} could not be carried on: {exc.what}"])
        _take_out(shop, earlier, workspace, filters)
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
    git, env = shop.git, {"GIT_INDEX_FILE": str(rescue / CARRY_ON_INDEX)}
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


def _take_out(shop: Shop, earlier: Earlier, workspace: Workspace, filters: Mapping[str, str]) -> None:
    """Give the worktree the base's files again, and no others: its agent is told that it is fresh.

    Raises:
        GitError: it cannot be done; no agent may begin in half of somebody's work.
    """
    rescue = _rescue_of(shop, earlier)
    index = rescue / CARRY_ON_INDEX
    if not index.is_file():
        return  # nothing was put in yet
    index.with_name(f"{index.name}.lock").unlink(missing_ok=True)
    git, env, place = shop.git, {"GIT_INDEX_FILE": str(index)}, workspace.worktree
    git.run("read-tree", workspace.base_sha, git_dir=rescue, env=env)
    git.run("checkout-index", "-a", "-f", "-q", git_dir=rescue, work_tree=place, env=env, config=filters)
    git.run("clean", "-ffdxq", git_dir=rescue, work_tree=place, env=env)  # follows no link


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
