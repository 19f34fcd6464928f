"""What was saved of worktrees, by age; it goes on a person's word alone, with everything in it named.

Must not take what a ticket may still go on from, nor a folder whose record cannot be read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from autopilot.config.atomic import write_atomically
from autopilot.config.logs import logger
from autopilot.config.paths import ARTIFACTS
from autopilot.config.removal import begin_removal, finish, sizes
from autopilot.daemon.gc import standing
from autopilot.daemon.gc.foreign import strange
from autopilot.daemon.gc.standing import DAY_MS
from autopilot.daemon.gc.sweep import claimed
from autopilot.runner.salvage import RECORD, read_salvage
from autopilot.schemas.events import Event
from autopilot.schemas.machine import FINAL_STATES
from autopilot.schemas.units import MS_PER_S, iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection

    from autopilot.daemon.desk import Desk
    from autopilot.schemas.salvage import Salvage


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """One salvage that is old enough to be asked about."""

    path: Path
    record: Salvage
    size_bytes: int
    stays: str
    """Why it may not go; empty when it may."""

    @property
    def commits(self) -> tuple[str, ...]:
        """Name the commits that are in it and, as far as we know, in no remote."""
        own = () if self.record.head is None else (self.record.head,)
        return (*own, *self.record.agent_commits)

    def as_fields(self) -> dict[str, Any]:
        """Give it as plain values."""
        return {
            "path": str(self.path),
            "ticket": self.record.ticket_id,
            "run": self.record.run_id,
            "saved_at": iso_utc(self.record.created_ms),
            "size_bytes": self.size_bytes,
            "commits": list(self.commits),
            "files": list(self.record.files),
            "changed_files": self.record.changed_files,
            "ignored": list(self.record.left_out),
            "stays": self.stays,
        }


def older_than(desk: Desk, days: int) -> list[Saved]:
    """Give every salvage that was made so many days ago, the oldest first."""
    before_ms = desk.clock.now_ms() - days * DAY_MS
    with desk.store.read() as conn:
        found = [one for one in _all(desk, conn) if one.record.created_ms < before_ms]
    return sorted(found, key=lambda one: one.record.created_ms)


def remove_old(desk: Desk, days: int) -> tuple[list[Saved], Path | None]:
    """Remove every salvage that is so old and may go.

    Returns:
        What is gone, and the file that names all that was in it; None where nothing was to go.

    Raises:
        RefusedError: a clean-up is under way.
        OSError: the names cannot be written, and nothing is removed; or a removal failed.
    """
    with claimed(desk.paths.state):
        going = [one for one in older_than(desk, days) if not one.stays]
        if not going:
            return [], None
        file = _name(desk, going)
        return [one for one in going if _remove(desk, one)], file


def _all(desk: Desk, conn: Connection) -> Iterator[Saved]:
    for place in _folders(desk.paths.salvage):
        for folder in _folders(place):
            record = read_salvage(folder / RECORD) if folder.name != ARTIFACTS else None
            if record is not None and record.ticket_id == place.name:
                stays = _stays(conn, record.ticket_id)
                yield Saved(path=folder, record=record, size_bytes=sizes(folder)[0], stays=stays)


def _stays(conn: Connection, ticket_id: str) -> str:
    ticket = standing.find(conn, ticket_id)
    if ticket is None or ticket.state in FINAL_STATES:
        return ""
    return f"the ticket is {ticket.state} and may go on from it"


def _remove(desk: Desk, one: Saved) -> bool:
    """Remove one, unless its ticket was taken up again meanwhile."""
    with desk.store.write() as conn:
        if _stays(conn, one.record.ticket_id):
            return False
        gone = begin_removal(one.path)
    logger("gc").info(
        Event.SALVAGE_REMOVED,
        ticket=one.record.ticket_id,
        run=one.record.run_id,
        commits=list(one.commits),
        path=str(one.path),
    )
    finish(gone)
    return True


def _name(desk: Desk, going: list[Saved]) -> Path:
    """Write down what is about to go, before anything does."""
    folder = desk.paths.reports
    folder.mkdir(mode=0o700, exist_ok=True)
    moment = datetime.fromtimestamp(desk.clock.now_ms() / MS_PER_S, tz=UTC)
    file = folder / f"salvages-removed-{moment:%Y%m%dT%H%M%SZ}.json"
    text = json.dumps([one.as_fields() for one in going], indent=2)
    write_atomically(file, text.encode("utf-8", "backslashreplace"))
    return file


def _folders(place: Path) -> list[Path]:
    """List real folders of ours; none where a link or another user's folder stands."""
    if strange(place) is not None or not place.is_dir():
        return []
    named = (entry for entry in place.iterdir() if not entry.name.startswith("."))
    return sorted(entry for entry in named if entry.is_dir() and strange(entry) is None)
