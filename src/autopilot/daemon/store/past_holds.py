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
_LAST = Prepared(
    lambda: (
        select(PAST_HOLDS.c.id)
        .where(
            PAST_HOLDS.c.until_ms.between(bindparam("from_ms"), bindparam("to_ms")),
            PAST_HOLDS.c.name == bindparam("name"),
            PAST_HOLDS.c.scope == bindparam("scope"),
        )
        .order_by(PAST_HOLDS.c.until_ms.desc(), PAST_HOLDS.c.id.desc())
        .limit(1)
    )
)
_NEW = Prepared(lambda: insert(PAST_HOLDS))
_AGAIN = Prepared(
    lambda: (
        update(PAST_HOLDS)
        .where(PAST_HOLDS.c.id == bindparam("seen_id"))
        .values(held_ms=PAST_HOLDS.c.held_ms + bindparam("add_held_ms"), times=PAST_HOLDS.c.times + 1)
    )
)
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
    which = {"name": ended.name, "scope": ended.scope}
    before = _LAST.scalar(unit.conn, {**which, "from_ms": since_ms - SAME_MS, "to_ms": until_ms})
    about = {"cause": ended.cause, "cure": ended.cure, "until_ms": until_ms}
    held_ms = until_ms - since_ms
    if before is None:
        _NEW.run(unit.conn, {**which, **about, "since_ms": since_ms, "held_ms": held_ms, "times": 1})
        return
    _AGAIN.run(unit.conn, {**about, "seen_id": before, "add_held_ms": held_ms})


def since(conn: Connection, since_ms: int) -> tuple[PastHold, ...]:
    """Give those that ended after a moment (UTC epoch ms), the one that ended first before others."""
    return tuple(PastHold(**row) for row in _SINCE.rows(conn, {"since_ms": since_ms}))
