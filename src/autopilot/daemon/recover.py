"""What a crash may have left beside the queue. What belongs to a ticket, the loop itself adopts or judges.

Must not delete anything: cleaning up is an act of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.logs import logger
from autopilot.daemon.store import queries_runs, queries_tickets
from autopilot.schemas.errors import TicketError
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection

    from autopilot.daemon.shop import Shop


def tell_orphans(shop: Shop) -> None:
    """Log each run folder and worktree that belongs to no run or ticket of ours."""
    with shop.store.read() as conn:
        for folder in orphans(conn, shop.paths.runs, shop.paths.worktrees):
            logger("daemon").warning(Event.FOLDER_ORPHANED, path=str(folder))


def orphans(conn: Connection, runs: Path, worktrees: Path) -> Iterator[Path]:
    """Name the folders that nobody owns."""
    for folder in _folders(runs):
        if queries_runs.attempt(conn, folder.name) is None:
            yield folder
    for folder in _folders(worktrees):
        if not _is_ticket(conn, folder.name):
            yield folder


def _is_ticket(conn: Connection, name: str) -> bool:
    try:
        return queries_tickets.ticket(conn, name) is not None
    except TicketError:
        return False


def _folders(parent: Path) -> list[Path]:
    if not parent.is_dir():
        return []
    return sorted(entry for entry in parent.iterdir() if entry.is_dir() and not entry.name.startswith("."))
