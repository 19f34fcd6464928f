"""Which worktree is ours: written down beside the run when it is made, told by device, inode and birth later.

Must not believe a folder's own `.git` file: the agent can write it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from autopilot.config.birth import born_ns
from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.paths import WORKTREE_FILE
from autopilot.runner.outbox import write_record
from autopilot.schemas.salvage import WorktreeRecord

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.schemas.run import RunSpec

_MAX_BYTES = 64 * 1024


def write_down(spec: RunSpec, *, base: str, base_sha: str, uses_lfs: bool, now_ms: int) -> WorktreeRecord:
    """Record the worktree that was just made.

    Raises:
        OSError: it is gone, or the record cannot be written.
    """
    status = spec.worktree.lstat()
    record = WorktreeRecord(
        run_id=spec.run_id,
        ticket_id=spec.ticket_id,
        repo=spec.repo.name,
        path=spec.worktree,
        device=status.st_dev,
        inode=status.st_ino,
        born_ns=born_ns(spec.worktree),
        base=base,
        base_sha=base_sha,
        uses_lfs=uses_lfs,
        created_ms=now_ms,
    )
    write_record(spec.run_dir / WORKTREE_FILE, record)
    return record


def record_of(run_dir: Path) -> WorktreeRecord | None:
    """Give the worktree that a run made, or None when it made none or its record cannot be believed."""
    try:
        raw = read_plain(run_dir / WORKTREE_FILE, max_bytes=_MAX_BYTES)
        record = WorktreeRecord.model_validate_json(raw)
    except (UnreadableError, ValidationError):
        return None
    return record if record.run_id == run_dir.name else None


def is_made_by(record: WorktreeRecord, folder: Path) -> bool:
    """Tell whether a folder is the one that was made, wherever it is now; a link to it is not.

    A number is given again once its folder is gone, to a folder of somebody else's too: so its birth counts,
    where both were told of it.
    """
    try:
        status = folder.lstat()
    except OSError:
        return False
    if (status.st_dev, status.st_ino) != (record.device, record.inode):
        return False
    born = None if record.born_ns is None else born_ns(folder)
    return born is None or born == record.born_ns


def maker_of(folder: Path, *, runs: Path, ticket_id: str) -> WorktreeRecord | None:
    """Find the run of a ticket that made a folder: the last one, as inodes are used again."""
    made = (record for record in _records(runs, ticket_id) if is_made_by(record, folder))
    return max(made, key=lambda record: record.created_ms, default=None)


def _records(runs: Path, ticket_id: str) -> Iterator[WorktreeRecord]:
    """Go through the records of a ticket's runs."""
    for run_dir in runs.glob(f"{ticket_id}-a*"):
        record = record_of(run_dir)
        if record is not None and record.ticket_id == ticket_id:
            yield record
