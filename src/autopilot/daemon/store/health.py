"""Whether what the file holds can be believed. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import text

from autopilot.daemon.store import copies

if TYPE_CHECKING:
    from sqlalchemy import Connection


def fault(conn: Connection) -> str | None:
    """Name the first fault: in the file's structure, or an unfinished ticket that its history contradicts."""
    verdict = conn.execute(text("PRAGMA quick_check(1)")).scalar_one()
    return contradiction(conn) if verdict == "ok" else str(verdict)


def contradiction(conn: Connection) -> str | None:
    """Name an unfinished ticket that its history contradicts; reads those alone, however large the file is.

    It finds pages of two databases mixed together, which SQLite itself may take for sound.
    """
    row = conn.execute(text(copies.CONTRADICTION)).one_or_none()
    return None if row is None else copies.told(*row)
