"""One clean-up from top to bottom: look, remove where that was asked for, pack the mirrors, write the report.

Must not run twice at once, and must not be run by the daemon's own process.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import psutil

from autopilot.config.logs import logger
from autopilot.daemon.gc import mirrors, report
from autopilot.daemon.gc.demos import old_demo
from autopilot.daemon.gc.item import Deed
from autopilot.daemon.gc.refusals import Refusals
from autopilot.daemon.gc.removing import remove
from autopilot.daemon.gc.runs import runs
from autopilot.daemon.gc.survey import survey, worktrees
from autopilot.schemas.errors import RefusedError
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.daemon.desk import Desk
    from autopilot.daemon.gc.item import Item

_ORDER = ("removing", "worktree", "earlier-worktree", "run-repositories", "orphan-run", "staging", "demo")
"""Worktrees before the repositories that they need."""
_WORKTREES = frozenset({"worktree", "earlier-worktree"})
_NICE = 19


def sweep(
    desk: Desk, *, apply: bool, packs: bool = False, demo: Path | None = None
) -> tuple[report.Report, Path]:
    """Clean up, or say what cleaning up would do.

    Args:
        desk: the queue and its places.
        apply: whether what may go is removed and mirrors are packed.
        packs: whether mirrors are packed all the same; that removes nothing of anybody's.
        demo: the folder in which `autopilot demo` plays.

    Returns:
        The report, and its file for people.

    Raises:
        RefusedError: another clean-up is under way.
    """
    with claimed(desk.paths.state):
        items = survey(desk)
        if demo is not None and (found := old_demo(desk, demo)) is not None:
            items.append(found)
        deeds = _removed(desk, items) if apply else _refused(desk, items)
        told = report.Report(
            created_ms=desk.clock.now_ms(),
            is_applied=apply,
            items=items,
            deeds=deeds,
            mirrors=mirrors.maintain(desk) if apply or packs else mirrors.states(desk),
        )
        file = report.write(told, desk.paths.reports)
    logger("gc").info(
        Event.GC_REPORTED,
        path=str(file),
        is_applied=apply,
        removable=len(told.removable),
        removed=len(deeds) - len(told.failed),
        failed=len(told.failed),
    )
    return told, file


def tidy(desk: Desk) -> list[Deed]:
    """Remove the worktrees of tickets whose pull request is open; that needs nobody's leave.

    Raises:
        RefusedError: another clean-up is under way.
    """
    with claimed(desk.paths.state):
        with desk.store.read() as conn:
            found = [item for item in worktrees(desk, conn) if item.may_go and not item.needs_leave]
        return _removed(desk, found)


def let_go(desk: Desk, run_id: str, *, apply: bool) -> list[Deed]:
    """Remove what a run left although not all of it can be saved, or say why it was kept until now.

    What can be saved is, and what cannot is written down by name before it goes.

    Raises:
        RefusedError: there is nothing of that run, or it may not go yet; or another clean-up is under way.
    """
    with claimed(desk.paths.state):
        found = _of_run(desk, run_id)
        if not found:
            raise RefusedError(
                "run-unknown", f"nothing of {run_id} is left", hint="autopilot gc lists what is"
            )
        if not any(item.may_go for item in found):
            raise RefusedError(
                "may-not-go", f"{run_id}: {found[0].why}", hint="autopilot gc lists what may go"
            )
        if not apply:
            return _refused(desk, found)
        trees = [item for item in found if item.kind in _WORKTREES]
        done = _removed(desk, trees)
        return [*done, *_removed(desk, [item for item in _of_run(desk, run_id) if item not in trees])]


def _of_run(desk: Desk, run_id: str) -> list[Item]:
    with desk.store.read() as conn:
        found = [*worktrees(desk, conn), *runs(desk, conn)]
    return [replace(item, is_let_go=True) for item in found if item.run == run_id]


def _refused(desk: Desk, items: list[Item]) -> list[Deed]:
    """Say of what may go which of it could not be removed before: somebody is to hear of it each time."""
    refusals = Refusals(desk.paths.state)
    known = ((item, refusals.known(item.path)) for item in items if item.may_go)
    return [Deed(item=item, is_removed=False, told=old.reason, is_news=False) for item, old in known if old]


def _removed(desk: Desk, items: list[Item]) -> list[Deed]:
    refusals = Refusals(desk.paths.state)
    wanted = [item for item in items if item.may_go]
    return [remove(desk, item, refusals) for item in sorted(wanted, key=lambda one: _ORDER.index(one.kind))]


@contextmanager
def claimed(state: Path) -> Iterator[None]:
    """Hold the clean-up inside the block.

    Raises:
        RefusedError: another one is under way.
    """
    handle = os.open(state / "gc.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise RefusedError(
                "gc-running", "another clean-up is under way", hint="wait until it has ended"
            ) from exc
        yield
    finally:
        os.close(handle)


def step_back() -> None:
    """Let everything else on this machine go first."""
    with suppress(OSError):
        os.nice(_NICE)
    if hasattr(psutil, "IOPRIO_CLASS_IDLE"):
        with suppress(OSError, psutil.Error):
            psutil.Process().ionice(psutil.IOPRIO_CLASS_IDLE)
