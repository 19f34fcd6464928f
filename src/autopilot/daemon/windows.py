"""When things may happen: the nightly window, fixed times of day, and usage limits of an agent. Pure.

A time of day that a clock change repeats counts once, at its first occurrence; one that a clock change skips
counts at the first instant after the gap.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from typing import TYPE_CHECKING

from autopilot.schemas.errors import ConfigError
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zoneinfo import ZoneInfo

_CLOCK = re.compile(r"^([01]\d|2[0-3]):([0-5]\d)$")
_MINUTE_MS = 60 * MS_PER_S
_HOUR_MS = 60 * _MINUTE_MS
_USUAL_LIMIT_MS = 6 * _HOUR_MS
_WEEKLY_LIMIT_MS = 8 * 24 * _HOUR_MS
_UNTOLD_LIMIT_MS = _HOUR_MS
_SOONEST_MS = _MINUTE_MS
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Schedule:
    """A daily window in local time; it may cross midnight. `tz` None is the system's zone."""

    window: str
    tz: ZoneInfo | None = None


def parse_clock(text: str) -> time_of_day:
    """Read `HH:MM`.

    Raises:
        ConfigError: `time-of-day`: the text is no time of day.
    """
    match = _CLOCK.match(text.strip())
    if match is None:
        raise ConfigError("time-of-day", f"not a time of day: {text!r}", hint="write it like 07:30")
    return time_of_day(int(match.group(1)), int(match.group(2)))


def parse_window(text: str) -> tuple[time_of_day, time_of_day]:
    """Read `HH:MM-HH:MM`; the same time twice is the whole day.

    Raises:
        ConfigError: `time-of-day`: one of the two is no time of day.
    """
    start, dash, end = text.partition("-")
    if not dash:
        raise ConfigError("time-of-day", f"not a window: {text!r}", hint="write it like 22:00-07:00")
    return parse_clock(start), parse_clock(end)


def is_open(schedule: Schedule, now_ms: int) -> bool:
    """Tell whether `now_ms` lies in the window; its end belongs to the day."""
    start, end = parse_window(schedule.window)
    return start == end or next_window(schedule, now_ms)[0] <= now_ms


def opens_ms(schedule: Schedule, now_ms: int) -> int:
    """Give the moment (UTC epoch ms) when the window opens next; `now_ms` while it is open."""
    start, end = parse_window(schedule.window)
    return now_ms if start == end else max(now_ms, next_window(schedule, now_ms)[0])


def closes_ms(schedule: Schedule, now_ms: int) -> int | None:
    """Give the moment (UTC epoch ms) when the open window closes; None when it is shut, or never does."""
    if len(set(parse_window(schedule.window))) == 1:
        return None
    opens, closes = next_window(schedule, now_ms)
    return closes if opens <= now_ms else None


def open_between_ms(schedule: Schedule | None, from_ms: int, to_ms: int) -> int:
    """Give how many milliseconds between two instants (UTC epoch ms) lie in the window; None: all of them."""
    if to_ms <= from_ms:
        return 0
    if schedule is None or len(set(parse_window(schedule.window))) == 1:
        return to_ms - from_ms
    first, last = (_local(moment, schedule.tz).date() for moment in (from_ms, to_ms))
    noons = (
        instant_ms(first + count * _DAY, time_of_day(12), schedule.tz)
        for count in range((last - first).days + 1)
    )
    found = {window for noon in noons for window in _around(schedule, noon)}
    return sum(max(0, min(closes, to_ms) - max(opens, from_ms)) for opens, closes in found)


def next_window(schedule: Schedule, now_ms: int) -> tuple[int, int]:
    """Give begin and end (UTC epoch ms) of the window that is open, else of the one that opens next."""
    return next(window for window in _around(schedule, now_ms) if window[1] > now_ms)


def last_due_ms(at: str, tz: ZoneInfo | None, now_ms: int) -> int:
    """Give the latest instant (UTC epoch ms) at or before now when the clock showed `at`.

    However many were missed while the machine slept, this is one: pair it with a row per (schedule, instant).
    """
    today, clock = _local(now_ms, tz).date(), parse_clock(at)
    moments = (instant_ms(today + shift * _DAY, clock, tz) for shift in (1, 0, -1, -2))
    return next(moment for moment in moments if moment <= now_ms)


def next_due_ms(at: str, tz: ZoneInfo | None, now_ms: int) -> int:
    """Give the first instant (UTC epoch ms) after now when the clock shows `at`."""
    today, clock = _local(now_ms, tz).date(), parse_clock(at)
    moments = (instant_ms(today + shift * _DAY, clock, tz) for shift in (-1, 0, 1, 2))
    return next(moment for moment in moments if moment > now_ms)


def day_of(due_ms: int, tz: ZoneInfo | None) -> str:
    """Give the local date (YYYY-MM-DD) of an instant (UTC epoch ms)."""
    return _local(due_ms, tz).date().isoformat()


def instant_ms(day: date, at: time_of_day, tz: ZoneInfo | None) -> int:
    """Turn a local day and time into UTC epoch ms.

    Source: PEP 495: in a gap, fold 0 uses the offset before it and fold 1 the one after it.
    """
    wanted = datetime.combine(day, at, tz)
    first_ms, second_ms = _epoch_ms(wanted), _epoch_ms(wanted.replace(fold=1))
    local = wanted.replace(tzinfo=None)
    if first_ms == second_ms or _local(first_ms, tz) == local:
        return first_ms
    return _gap_end_ms(local, second_ms, first_ms, tz)


def clamped_reset_ms(resets_ms: int | None, now_ms: int, *, is_weekly: bool) -> int:
    """Take an agent's word for when its usage window opens again, within reason.

    Args:
        resets_ms: what the agent said, UTC epoch ms; None when it named no time.
        now_ms: UTC epoch ms.
        is_weekly: whether it is the weekly limit, which may be 8 days away and not only 6 hours.
    """
    if resets_ms is None:
        resets_ms = now_ms + _UNTOLD_LIMIT_MS
    furthest_ms = _WEEKLY_LIMIT_MS if is_weekly else _USUAL_LIMIT_MS
    return min(max(resets_ms, now_ms + _SOONEST_MS), now_ms + furthest_ms)


def _around(schedule: Schedule, now_ms: int) -> Iterator[tuple[int, int]]:
    """Give the windows that begin from yesterday to the day after tomorrow as instants, in their order."""
    start, end = parse_window(schedule.window)
    today = _local(now_ms, schedule.tz).date()
    last = _DAY if end <= start else timedelta(0)
    for day in (today + shift * _DAY for shift in (-1, 0, 1, 2)):
        yield instant_ms(day, start, schedule.tz), instant_ms(day + last, end, schedule.tz)


def _gap_end_ms(wanted: datetime, low_ms: int, high_ms: int, tz: ZoneInfo | None) -> int:
    """Find the first instant whose local time is not before `wanted`: the end of the gap."""
    while high_ms - low_ms > 1:
        middle_ms = (low_ms + high_ms) // 2
        if _local(middle_ms, tz) < wanted:
            low_ms = middle_ms
        else:
            high_ms = middle_ms
    return high_ms


def _local(epoch_ms: int, tz: ZoneInfo | None) -> datetime:
    """Show an instant on the local clock, without zone. No zone given: the system's, by the C library."""
    moment = datetime.fromtimestamp(epoch_ms / MS_PER_S, tz=UTC).astimezone(tz)
    return moment.replace(tzinfo=None, fold=0)


def _epoch_ms(moment: datetime) -> int:
    return round(moment.timestamp() * MS_PER_S)
