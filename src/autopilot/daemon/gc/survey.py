"""Looks through the state folder: what could go, what stays, and why. Changes nothing.

Must not list as ours what nobody wrote down at its making, nor follow a link out of the state folder.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from autopilot.config.removal import ASIDE, sizes, waiting
from autopilot.daemon.gc import standing
from autopilot.daemon.gc.foreign import strange
from autopilot.daemon.gc.item import Item
from autopilot.daemon.gc.runs import runs
from autopilot.daemon.gc.standing import DAY_MS, Standing
from autopilot.runner.owned import maker_of
from autopilot.runner.worktree import TRASH
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection

    from autopilot.daemon.desk import Desk

_STALE_DAYS = 1
"""After that a file that was to be renamed into place never will be: its writer died."""
_PART = re.compile(r"\..*\.part")
_MOVED = re.compile(r"(T-[1-9][0-9]*)-before-.+")


def survey(desk: Desk) -> list[Item]:
    """Give every thing that cleaning up knows of, with its size."""
    with desk.store.read() as conn:
        found = [*worktrees(desk, conn), *runs(desk, conn)]
    found += [*_removing(desk), *_staging(desk), *_damaged(desk), *_mirrors(desk), *_salvages(desk)]
    return [replace(item, size_bytes=_size(item)) for item in found]


def worktrees(desk: Desk, conn: Connection) -> Iterator[Item]:
    """Look at each ticket's worktree, and at those that were moved aside for a later attempt."""
    places = desk.paths.worktrees
    for folder in _entries(places):
        if folder.name not in {TRASH, ASIDE}:
            yield _worktree(desk, conn, folder, ticket=folder.name)
    if not (places / TRASH).is_symlink():
        for folder in _entries(places / TRASH):
            if folder.name != ASIDE:
                moved = _MOVED.fullmatch(folder.name)
                yield _worktree(desk, conn, folder, ticket=moved[1] if moved else "", kind_is_earlier=True)


def _worktree(
    desk: Desk, conn: Connection, folder: Path, *, ticket: str, kind_is_earlier: bool = False
) -> Item:
    if (stranger := strange(folder)) is not None:
        return Item(kind="foreign", path=folder, may_go=False, why=stranger)
    known = standing.find(conn, ticket)
    is_named = standing.is_name(ticket)
    record = maker_of(folder, runs=desk.paths.runs, ticket_id=ticket) if is_named else None
    if record is None:
        why = "it belongs to no ticket" if known is None else "no run of ours wrote down that it made it"
        return Item(kind="foreign", path=folder, may_go=False, why=why)
    keep_days = desk.settings.gc.keep_days
    now_ms = standing.now_ms_for(desk, conn, keep_days)
    verdict = (
        standing.worktree_of(conn, known, now_ms=now_ms, keep_days=keep_days)
        if known is not None
        else standing.of_nobody(desk.paths.run_dir(record.run_id), now_ms=now_ms, keep_days=keep_days)
    )
    return Item(
        kind="earlier-worktree" if kind_is_earlier else "worktree",
        path=folder,
        may_go=verdict.may_go,
        why=f"{verdict.why}; what is in it is saved first" if verdict.may_go else verdict.why,
        ticket=ticket,
        run=record.run_id,
        needs_leave=verdict.needs_leave,
    )


def _removing(desk: Desk) -> Iterator[Item]:
    """Give what was decided on before and only waits to be deleted."""
    places = [desk.paths.worktrees, desk.paths.worktrees / TRASH, desk.paths.runs, *_entries(desk.paths.runs)]
    places += _entries(desk.paths.salvage)
    for place in places:
        for path in waiting(place) if not place.is_symlink() else ():
            yield Item(kind="removing", path=path, may_go=True, why="a removal that was not finished")


def _staging(desk: Desk) -> Iterator[Item]:
    """Give files that a killed writer never renamed into place."""
    paths = desk.paths
    places = [paths.state, paths.pr_requests, paths.digests, paths.reports]
    for each in (paths.salvage, paths.drafts_dir(""), paths.local_forge):
        places += _entries(each)
    for place in places:
        for path in _entries(place):
            if _PART.fullmatch(path.name) and _age_days(desk, path) >= _STALE_DAYS:
                verdict = Standing(may_go=True, why="its writer died before it was whole")
                if path.is_symlink() or path.lstat().st_uid != os.geteuid():
                    verdict = Standing(may_go=False, why="it is a link or belongs to another user")
                yield Item(kind="staging", path=path, may_go=verdict.may_go, why=verdict.why)


def _damaged(desk: Desk) -> Iterator[Item]:
    for folder in _entries(desk.paths.state):
        if folder.name.startswith(("damaged-", "replaced-")):
            why = "a queue that was moved aside; a person removes it"
            yield Item(kind="damaged-queue", path=folder, may_go=False, why=why)


def _mirrors(desk: Desk) -> Iterator[Item]:
    configured = {f"{repo.name}.git" for repo in desk.settings.repos}
    for folder in _entries(desk.paths.mirrors):
        if folder.suffix == ".git":
            why = "every run of the repository borrows from it"
            if folder.name not in configured:
                why = "its repository is not configured any more; remove it by hand when no run is left"
            yield Item(kind="mirror", path=folder, may_go=False, why=why)


def _salvages(desk: Desk) -> Iterator[Item]:
    for folder in _entries(desk.paths.salvage):
        if not folder.name.startswith("."):
            why = "the only copy of what was saved; autopilot gc --salvages-older-than DAYS --delete"
            yield Item(kind="salvage", path=folder, may_go=False, why=why, ticket=folder.name)


def _entries(folder: Path) -> list[Path]:
    """List a folder; nothing where there is none, or a link stands in its place."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    return sorted(folder.iterdir())


def _age_days(desk: Desk, path: Path) -> float:
    with desk.store.read() as conn:
        now_ms = standing.now_ms_for(desk, conn, _STALE_DAYS)
    try:
        return (now_ms - path.lstat().st_mtime * MS_PER_S) / DAY_MS
    except OSError:
        return 0.0


def _size(item: Item) -> int:
    paths: Iterable[Path] = item.parts or (item.path,)
    return sum(sizes(path)[0] for path in paths)
