"""Takes away what may go: asked again in the transaction that takes it, saved, then deleted.

Must not remove what could not be saved, and must leave nothing undecided when it is killed: a folder is
renamed first, and under its new name the next sweep knows what to do with it.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from autopilot.config.git import FOREIGN_MEMORY_BYTES, Git
from autopilot.config.logs import logger
from autopilot.config.paths import ARTIFACTS, WORKTREE_FILE
from autopilot.config.removal import begin_removal, finish, remove_tree
from autopilot.config.rights import give_back
from autopilot.daemon.gc import standing
from autopilot.daemon.gc.artifacts import copy_artifacts
from autopilot.daemon.gc.foreign import strange
from autopilot.daemon.gc.item import Deed
from autopilot.daemon.gc.losses import write_down
from autopilot.daemon.gc.runs import REPOSITORIES, worktree_made_by
from autopilot.daemon.store import queries_runs
from autopilot.runner.bundles import UnsavedError
from autopilot.runner.chronicle import STATE_FILE
from autopilot.runner.owned import is_made_by, record_of
from autopilot.runner.salvage import Finding, salvage
from autopilot.runner.state import update_state
from autopilot.runner.worktree import TRASH
from autopilot.schemas.errors import AutopilotError, InvariantError, RefusedError, TransientError
from autopilot.schemas.events import Event
from autopilot.schemas.units import iso_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from sqlalchemy import Connection

    from autopilot.daemon.desk import Desk
    from autopilot.daemon.gc.item import Item
    from autopilot.daemon.gc.refusals import Refusals

SCRATCH = "gc-git"
_MAX_NAMED = 5


def remove(desk: Desk, item: Item, refusals: Refusals) -> Deed:
    """Remove one thing, or say why it stays."""
    now_ms = desk.clock.now_ms()
    if not item.is_let_go and (resting := refusals.resting(item.path, now_ms)) is not None:
        until = iso_utc(resting.next_ms)
        return Deed(
            item=item, is_removed=False, told=f"{resting.reason}; tried again after {until}", is_news=False
        )
    try:
        _REMOVERS[item.kind](desk, item)
    except TransientError as exc:
        return Deed(item=item, is_removed=False, told=exc.what)
    except (AutopilotError, OSError) as exc:
        reason = _reason(item, exc)
        is_news = refusals.note(item.path, reason, now_ms)
        if is_news:
            logger("gc").warning(Event.WORK_KEPT, path=str(item.path), reason=reason)
        return Deed(item=item, is_removed=False, told=reason, is_news=is_news)
    refusals.forget(item.path)
    return Deed(item=item, is_removed=True)


def _reason(item: Item, exc: AutopilotError | OSError) -> str:
    if isinstance(exc, UnsavedError):
        named = "; ".join(exc.unsaved()[:_MAX_NAMED])
        rest = "the rest is saved" if exc.rest is not None else "nothing of it is saved"
        return f"{named}; {rest}. To let go of it: autopilot gc --let-go {item.run}"
    return exc.what if isinstance(exc, AutopilotError) else str(exc)


def _worktree(desk: Desk, item: Item) -> None:
    """Take a worktree's name away, save it, then delete it; what could not be gets its name back."""
    _ask_for_processes(desk, item)
    aside = desk.paths.worktrees / TRASH / f"{item.ticket}-before-gc-{secrets.token_hex(4)}"
    aside.parent.mkdir(mode=0o700, exist_ok=True)
    with desk.store.write() as conn:
        _ask_again(desk, conn, item)
        give_back(item.path)
        item.path.rename(aside)
    try:
        _earlier_worktree(desk, replace(item, path=aside), was=item.path)
    except (AutopilotError, OSError):
        with suppress(OSError):
            if not item.path.exists():
                aside.rename(item.path)
        raise


def _earlier_worktree(desk: Desk, item: Item, was: Path | None = None) -> None:
    """Save and delete a worktree that no longer stands in its ticket's place."""
    _ask_for_processes(desk, item)
    with desk.store.read() as conn:
        _ask_again(desk, conn, item)
    run_dir = desk.paths.run_dir(item.run or "")
    _save(desk, item, folder=item.path)
    artifacts = _copied(desk, item, worktree=item.path)
    _note_removal(desk, run_dir, artifacts)
    gone = begin_removal(item.path)
    logger("gc").info(
        Event.WORKTREE_REMOVED, ticket=item.ticket, run=run_dir.name, path=str(was or item.path)
    )
    remove_tree(gone)


def _copied(desk: Desk, item: Item, *, worktree: Path) -> Path:
    """Copy what a run left for people; give the folder of the copy."""
    run_dir = desk.paths.run_dir(item.run or "")
    artifacts = desk.paths.salvage / (item.ticket or "") / ARTIFACTS / run_dir.name
    more = (desk.paths.request(run_dir.name), desk.paths.verdict(run_dir.name))
    copy_artifacts(run_dir, artifacts, worktree=worktree, more=more)
    return artifacts


def _note_removal(desk: Desk, run_dir: Path, artifacts: Path) -> None:
    """Write into the run's record that its worktree was tidied away, and where its artefacts lie."""
    patch = {"worktreeRemovedAt": iso_utc(desk.clock.now_ms()), "artifactsPath": str(artifacts)}
    for place in (run_dir, artifacts):
        with suppress(InvariantError):  # a run that was killed at its start has no record, or an invalid one
            update_state(place / STATE_FILE, patch)


def _save(desk: Desk, item: Item, *, folder: Path | None) -> None:
    """Save what a run left.

    Raises:
        UnsavedError: it could not be, and nobody said that it may go all the same.
        OSError: what is lost cannot be written down.
    """
    try:
        _save_whole(desk, item, folder=folder)
    except UnsavedError as exc:
        if not item.is_let_go:
            raise
        write_down(desk, item, exc)


def _save_whole(desk: Desk, item: Item, *, folder: Path | None) -> None:
    run_dir = desk.paths.run_dir(item.run or "")
    record = record_of(run_dir)
    if record is None or record.ticket_id != item.ticket:
        if folder is None and not any(_is_there(run_dir / name) for name in (WORKTREE_FILE, *REPOSITORIES)):
            return  # it never had a worktree, nor a repository in which something was committed
        raise UnsavedError(
            "worktree-unknown", f"what {run_dir.name} wrote down of its worktree cannot be believed"
        )
    git = Git(
        desk.clock,
        desk.paths.state / SCRATCH,
        timeout_s=desk.settings.timeouts.git_s,
        memory_bytes=FOREIGN_MEMORY_BYTES,
    )
    finding = Finding(
        record=record,
        folder=folder,
        run_dir=run_dir,
        mirror=desk.paths.mirror(record.repo),
        place=desk.paths.salvage / record.ticket_id,
        reason=item.why,
    )
    saved = salvage(git, finding)
    if not saved.is_empty:
        facts = {"files": saved.changed_files, "bundle": str(saved.bundle)}
        logger("gc").info(Event.WORK_SALVAGED, ticket=record.ticket_id, run=record.run_id, **facts)


def _is_there(path: Path) -> bool:
    """Tell whether a name is taken; what cannot be looked at is an error, and no free name."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    return True


def _run_repositories(desk: Desk, item: Item) -> None:
    _ask_for_its_worktree(desk, item)
    _save(desk, item, folder=None)
    if not (desk.paths.salvage / (item.ticket or "") / ARTIFACTS / item.path.name).is_dir():
        _copied(desk, item, worktree=item.path / "no-worktree")
    with desk.store.write() as conn:
        _ask_again(desk, conn, item)
        gone = [begin_removal(part) for part in item.parts if part.exists()]
    for path in gone:
        finish(path)


def _orphan_run(desk: Desk, item: Item) -> None:
    _save(desk, item, folder=None)
    with desk.store.write() as conn:
        if queries_runs.attempt(conn, item.path.name) is not None:
            raise RefusedError("run-known", f"{item.path.name} is a run of ours after all")
        _ask_for_its_worktree(desk, item)
        gone = begin_removal(item.path)
    finish(gone)


def _whole(desk: Desk, item: Item) -> None:  # noqa: ARG001 - the shape of a remover
    remove_tree(item.path)


def _unfinished(desk: Desk, item: Item) -> None:  # noqa: ARG001 - the shape of a remover
    finish(item.path)


def _ask_again(desk: Desk, conn: Connection, item: Item) -> None:
    """Ask again whether it may go; in a transaction that writes, no claim can come between.

    Raises:
        TransientError: it may not any more.
    """
    known = standing.find(conn, item.ticket or "")
    keep_days = desk.settings.gc.keep_days
    now_ms = standing.now_ms_for(desk, conn, keep_days)
    if known is None and item.kind == "run-repositories":
        raise TransientError("ticket-gone", f"{item.ticket} is not known any more")
    if known is not None and item.kind == "run-repositories":
        _ask_for_its_worktree(desk, item)
        verdict = standing.run_of(known, now_ms=now_ms, keep_days=keep_days)
    else:
        run_dir = desk.paths.run_dir(item.run or "")
        verdict = (
            standing.worktree_of(conn, known, now_ms=now_ms, keep_days=keep_days)
            if known is not None
            else standing.of_nobody_by_age(run_dir, now_ms=now_ms, keep_days=keep_days)
        )
        record = record_of(desk.paths.run_dir(item.run or ""))
        if record is None or not is_made_by(record, item.path):
            raise TransientError("folder-changed", f"{item.path} is another folder than before")
    if not verdict.may_go or (verdict.needs_leave and not item.needs_leave):
        raise TransientError("ticket-moved", f"{item.ticket}: {verdict.why}")
    if (stranger := strange(item.path)) is not None:
        raise TransientError("folder-changed", f"{item.path}: {stranger}")


def _ask_for_processes(desk: Desk, item: Item) -> None:
    """Ask whether a run that the queue does not know still works; before the transaction, which is short.

    Raises:
        TransientError: it does.
    """
    with desk.store.read() as conn:
        is_known = standing.find(conn, item.ticket or "") is not None
    if not is_known and standing.has_processes(desk.paths.run_dir(item.run or "")):
        raise TransientError("run-alive", f"a process of {item.run} is alive")


def _ask_for_its_worktree(desk: Desk, item: Item) -> None:
    """Ask again whether the worktree that needs a run's repositories is gone.

    Raises:
        TransientError: it is there.
    """
    if (folder := worktree_made_by(desk, desk.paths.run_dir(item.run or ""))) is not None:
        raise TransientError("worktree-there", f"its worktree {folder} is there, and goes first")


_REMOVERS: Mapping[str, Callable[[Desk, Item], None]] = {
    "worktree": _worktree,
    "earlier-worktree": _earlier_worktree,
    "run-repositories": _run_repositories,
    "orphan-run": _orphan_run,
    "staging": _whole,
    "removing": _unfinished,
    "demo": _whole,
}
