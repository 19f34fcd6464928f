"""What falls due once on every local date: asked of the store, never of a timer.

A firing is known by its schedule and the date it was for, so that neither a doubled hour, nor a clock that
was set, nor a host that moves to another time zone makes it fire twice on a date, or never again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from autopilot.config.plain import one_line
from autopilot.daemon import windows
from autopilot.daemon.store import nights, queries_host, writes
from autopilot.daemon.store.nights import LastTime
from autopilot.daemon.store.unit import in_one
from autopilot.schemas.units import MS_PER_S, format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from zoneinfo import ZoneInfo

    from sqlalchemy import Connection

    from autopilot.config.settings import Settings
    from autopilot.daemon.store.engine import Store
    from autopilot.daemon.store.unit import Unit

DIGEST, BACKUP, RECONCILE, RETENTION, GC = "digest", "backup", "reconcile", "retention", "gc"
DAILY = (DIGEST, BACKUP, RECONCILE, RETENTION, GC)
"""The most urgent first."""
PUBLISH_STATE = "publish-state"
"""Followed by a repository. Due with the digest, and every ten minutes while drafts hold tickets up."""
_TOLD_FROM_S = 15 * 60
_MAX_DETAIL_CHARS = 300


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
    missed: int = 0
    """How many dates before this one it did not fire for, since it fired last."""

    @property
    def told(self) -> str:
        """Say how late it is, and what was missed; empty when all is as it should be."""
        late = f"{format_duration(self.late_s)} late" if self.late_s >= _TOLD_FROM_S else ""
        dates = f"{self.missed} earlier date{'s' if self.missed > 1 else ''} missed" if self.missed else ""
        return "; ".join(filter(None, (late, dates)))


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
        missed=_days_between(last_ms, day, zone),
    )


def times(settings: Settings) -> Mapping[str, str]:
    """Give the local time of day, HH:MM, at which each daily schedule falls due."""
    at = settings.schedule.digest_at
    return dict.fromkeys(DAILY, at) | {BACKUP: settings.backup.at, RETENTION: settings.retention.at}


def settle(store: Store, due: Due, *, also: Callable[[Unit], None] | None = None) -> None:
    """Write down that it has fired for its date, and how it went; the first of all did nothing.

    `also` is written down with it, or neither is.
    """

    def work(unit: Unit) -> None:
        writes.fire(unit, f"{due.schedule} {due.day}", due.due_ms)
        if also is not None:
            also(unit)
        if not due.is_first:
            nights.note_schedule(
                unit, _last(due, unit.now_ms, outcome="done", detail=due.told, next_ms=due.next_ms)
            )

    in_one(store, work)


def fail(store: Store, due: Due, detail: str, *, retry_ms: int) -> None:
    """Write down that it came to nothing, and when it is tried again (UTC epoch ms); it is due as before."""
    said = one_line(detail, max_chars=_MAX_DETAIL_CHARS)

    def work(unit: Unit) -> None:
        last = _last(due, unit.now_ms, outcome="failed", detail=said, next_ms=retry_ms)
        nights.note_schedule(unit, last)

    in_one(store, work)


def _last(due: Due, ended_ms: int, *, outcome: nights.ScheduleOutcome, detail: str, next_ms: int) -> LastTime:
    return LastTime(
        name=due.schedule,
        due_ms=due.due_ms,
        ended_ms=ended_ms,
        outcome=outcome,
        detail=detail,
        next_ms=next_ms,
    )


def _days_between(last_ms: int | None, day: str, zone: ZoneInfo | None) -> int:
    if last_ms is None:
        return 0
    last = date.fromisoformat(windows.day_of(last_ms, zone))
    return max(0, (date.fromisoformat(day) - last).days - 1)
