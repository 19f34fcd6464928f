"""What may go of a run's folder: its repositories and check-outs; of a run that nobody knows, the whole.

Must not give up journals, results or logs of a run that the store knows: those have a time of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.paths import JUDGE_REPOSITORY, PUBLISH_FOLDER, SPEC_FILE
from autopilot.config.removal import ASIDE
from autopilot.daemon.gc import standing
from autopilot.daemon.gc.foreign import strange
from autopilot.daemon.gc.item import Item
from autopilot.daemon.gc.standing import Standing
from autopilot.daemon.store import queries_runs
from autopilot.runner.owned import is_made_by, record_of
from autopilot.runner.salvage import RESCUE_REPOSITORY
from autopilot.runner.worktree import TRASH
from autopilot.schemas.run import RunSpec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection

    from autopilot.daemon.desk import Desk

REPOSITORIES = ("repo.git", JUDGE_REPOSITORY, RESCUE_REPOSITORY)
"""In which commits may lie that exist nowhere else."""
PARTS = (
    *(*REPOSITORIES, "rescue-proof.git"),
    *("check", "restored", "git", "home", "tmp", "gate-home", "gates", f"{PUBLISH_FOLDER}/work"),
)
"""Of use to the run itself and to whoever looks at its work; the gates' evidence is copied out first."""
_MAX_SPEC_BYTES = 16 * 1024 * 1024


def runs(desk: Desk, conn: Connection) -> Iterator[Item]:
    """Look at each run's folder."""
    place = desk.paths.runs
    if place.is_symlink() or not place.is_dir():
        return
    for folder in sorted(place.iterdir()):
        if folder.name == ASIDE:
            continue
        if (stranger := strange(folder)) is not None:
            yield Item(kind="foreign", path=folder, may_go=False, why=stranger)
        elif (attempt := queries_runs.attempt(conn, folder.name)) is None:
            yield _orphan(desk, conn, folder)
        else:
            yield from _known(desk, conn, folder, ticket=attempt.ticket_id)


def _known(desk: Desk, conn: Connection, folder: Path, *, ticket: str) -> Iterator[Item]:
    parts = tuple(
        folder / name for name in PARTS if (folder / name).is_dir() and not (folder / name).is_symlink()
    )
    known = standing.find(conn, ticket)
    if not parts or known is None:
        return
    keep_days = desk.settings.gc.keep_days
    now_ms = standing.now_ms_for(desk, conn, keep_days)
    verdict = standing.run_of(known, now_ms=now_ms, keep_days=keep_days)
    yield Item(
        kind="run-repositories",
        path=folder,
        may_go=verdict.may_go,
        why=verdict.why,
        ticket=ticket,
        run=folder.name,
        parts=parts,
    )


def _orphan(desk: Desk, conn: Connection, folder: Path) -> Item:
    """Judge a run's folder that the store does not know, as after a queue was restored or given up."""
    spec = _spec_of(folder)
    if spec is None:
        why = "no run of ours: it holds no specification of that name"
        return Item(kind="foreign", path=folder, may_go=False, why=why)
    keep_days = desk.settings.gc.keep_days
    now_ms = standing.now_ms_for(desk, conn, keep_days)
    verdict = standing.of_nobody(folder, now_ms=now_ms, keep_days=keep_days)
    if verdict.may_go and worktree_made_by(desk, folder) is not None:
        verdict = Standing(may_go=False, why="its worktree is there, and goes first")
    return Item(
        kind="orphan-run",
        path=folder,
        may_go=verdict.may_go,
        why=verdict.why,
        ticket=spec.ticket_id,
        run=folder.name,
    )


def worktree_made_by(desk: Desk, run_dir: Path) -> Path | None:
    """Find the worktree that a run made and that still needs the run's repository."""
    record, places = record_of(run_dir), desk.paths.worktrees
    if record is None:
        return None
    for place in (places, places / TRASH):
        for folder in place.iterdir() if place.is_dir() and not place.is_symlink() else ():
            if is_made_by(record, folder):
                return folder
    return None


def _spec_of(folder: Path) -> RunSpec | None:
    try:
        spec = RunSpec.model_validate_json(read_plain(folder / SPEC_FILE, max_bytes=_MAX_SPEC_BYTES))
    except (UnreadableError, ValidationError):
        return None
    return spec if spec.run_id == folder.name and spec.run_dir == folder else None
