"""What held the queue and does no longer, so that a digest tells of it hours after it ended.

One that comes and goes within minutes is one row, which says how often: a night has few rows, whatever
flickered in it. Must not judge which of them matter. Source: docs/decisions/0175.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, insert, select, update

from autopilot.daemon.store.prepared import Prepared
from autopilot.daemon.store.tables_host import PAST_HOLDS

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from autopilot.daemon.store.unit import Unit
    from autopilot.schemas.ticket import Hold

SAME_MS = 10 * 60_000
"""A hold that comes again sooner than this after it ended goes on with its row."""

_COLUMNS = tuple(column for column in PAST_HOLDS.c if column.name != "id")
_SINCE = Prepared(
    lambda: (
        select(*_COLUMNS)
        .where(PAST_HOLDS.c.until_ms >= bindparam("since_ms"))
        .order_by(PAST_HOLDS.c.until_ms, PAST_HOLDS.c.id)
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastHold:
    """A hold that has ended. Moments are UTC epoch ms."""

    name: str
    scope: str
    cause: str
    """The last one, where it changed."""
    cure: str
    since_ms: int
    until_ms: int
    held_ms: int
    """How long it stood in all; less than from start to end where it came and went."""
    times: int


def keep(unit: Unit, ended: Hold) -> None:
    """Take down that a hold has ended now."""
    until_ms = unit.now_ms
    since_ms = min(ended.since_ms, until_ms)  # the clock may have been set back
    columns = PAST_HOLDS.c
    before = unit.conn.execute(
        select(columns.id)
        .where(
            columns.until_ms.between(since_ms - SAME_MS, until_ms),
            columns.name == ended.name,
            columns.scope == ended.scope,
        )
        .order_by(columns.until_ms.desc(), columns.id.desc())
        .limit(1)
    ).scalar()
    about = {"cause": ended.cause, "cure": ended.cure, "until_ms": until_ms}
    held_ms = until_ms - since_ms
    if before is None:
        row = {"name": ended.name, "scope": ended.scope, "since_ms": since_ms, "times": 1}
        unit.conn.execute(insert(PAST_HOLDS).values(held_ms=held_ms, **about, **row))
        return
    more = {"held_ms": columns.held_ms + held_ms, "times": columns.times + 1}
    unit.conn.execute(update(PAST_HOLDS).where(columns.id == before).values(**about, **more))


def since(conn: Connection, since_ms: int) -> tuple[PastHold, ...]:
    """Give those that ended after a moment (UTC epoch ms), the one that ended first before others."""
    return tuple(PastHold(**row) for row in _SINCE.rows(conn, {"since_ms": since_ms}))
