"""What falls due once on every local date: asked of the store, never of a timer.

A firing is known by its schedule and the date it was for, so that neither a doubled hour, nor a clock that
was set, nor a host that moves to another time zone makes it fire twice on a date, or never again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.daemon import windows
from autopilot.daemon.store import queries_host, writes
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from sqlalchemy import Connection

    from autopilot.daemon.store.engine import Store


@dataclass(frozen=True, slots=True)
class Due:
    """The latest date of a schedule. Moments are UTC epoch ms."""

    schedule: str
    day: str
    due_ms: int
    next_ms: int
    late_s: int
    is_first: bool
    """Nothing ever fired: there was no night before this daemon."""
    is_open: bool
    """It has not fired for this date, and should."""


def look(conn: Connection, schedule: str, *, at: str, zone: ZoneInfo | None, now_ms: int) -> Due:
    """Find what fell due last; however many dates were slept through, it is one."""
    due_ms = windows.last_due_ms(at, zone, now_ms)
    day = windows.day_of(due_ms, zone)
    last_ms = queries_host.last_firing(conn, schedule)
    # A firing that lies ahead says that the clock was set back since: then the date alone decides.
    is_news = last_ms is not None and (last_ms < due_ms or last_ms > now_ms)
    return Due(
        schedule,
        day,
        due_ms=due_ms,
        next_ms=windows.next_due_ms(at, zone, now_ms),
        late_s=max(0, now_ms - due_ms) // MS_PER_S,
        is_first=last_ms is None,
        is_open=is_news and not queries_host.has_fired(conn, schedule, day),
    )


def settle(store: Store, due: Due) -> None:
    """Write down that it has fired for its date."""
    writes.fire_once(store, f"{due.schedule} {due.day}", due.due_ms)
