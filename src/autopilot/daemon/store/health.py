"""Whether what the file holds can be believed. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import or_, select, text

from autopilot.daemon.store.tables import HISTORY, TICKETS
from autopilot.schemas.ids import ticket_id
from autopilot.schemas.machine import FINAL_STATES

if TYPE_CHECKING:
    from sqlalchemy import Connection


def fault(conn: Connection) -> str | None:
    """Name the first fault: in the file's structure, or an unfinished ticket that its history contradicts.

    The second finds pages of two databases mixed together, which SQLite itself may take for sound.
    """
    verdict = conn.execute(text("PRAGMA quick_check(1)")).scalar_one()
    if verdict != "ok":
        return str(verdict)
    last = (
        select(HISTORY.c.to_state)
        .where(HISTORY.c.ticket == TICKETS.c.short_id)
        .order_by(HISTORY.c.id.desc())
        .limit(1)
        .correlate(TICKETS)
        .scalar_subquery()
    )
    statement = (
        select(TICKETS.c.short_id, TICKETS.c.state, last.label("last"))
        .where(
            TICKETS.c.state.not_in([state.value for state in FINAL_STATES]),
            or_(last.is_(None), last != TICKETS.c.state),
        )
        .limit(1)
    )
    row = conn.execute(statement).one_or_none()
    if row is None:
        return None
    return f"{ticket_id(row.short_id)} is {row.state}, but its history ends at {row.last}"
