"""A week that sees the clocks change twice: by a trip, as no zone changes them twice in a week.

Must not ask the product what its windows and schedules say: it looks at the clock on the wall by the minute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_MINUTE_MS = 60_000
_HOURS_BESIDE = 30
DAYS = 8
"""From one Saturday evening to the Sunday of the week after."""


@dataclass(frozen=True, slots=True)
class Trip:
    """Where it goes, and the Saturday on which it begins."""

    home: str
    abroad: str
    first: date


TRIPS = (
    Trip("Europe/Berlin", "Australia/Sydney", date(2026, 3, 28)),  # an hour ahead, then an hour back
    Trip("Europe/Berlin", "Australia/Lord_Howe", date(2026, 3, 28)),  # an hour ahead, then half an hour back
    Trip("Europe/Berlin", "America/New_York", date(2026, 10, 24)),  # an hour back, twice
)


@dataclass(frozen=True, slots=True)
class Calendar:
    """One week of one trip."""

    trip: Trip
    flight: int
    """On which day at noon the clock on the wall is another."""
    digest_at: str

    def zone(self, at_ms: int) -> ZoneInfo:
        """The zone whose clock is looked at."""
        return ZoneInfo(self.trip.home if at_ms < self.flight_ms else self.trip.abroad)

    @property
    def flight_ms(self) -> int:
        return _ms(datetime.combine(self.day(self.flight), time(12), ZoneInfo(self.trip.home)))

    def day(self, number: int) -> date:
        return self.trip.first + timedelta(days=number)

    def at(self, number: int, clock: str) -> int:
        """The first moment (UTC epoch ms) at which that day's clock shows this time."""
        name = self.trip.home if number <= self.flight else self.trip.abroad
        return _first(self.day(number), time.fromisoformat(clock), ZoneInfo(name))

    def is_night(self, at_ms: int) -> bool:
        """Whether the clock on the wall is between 22:00 and 07:00."""
        clock = datetime.fromtimestamp(at_ms / 1000, tz=UTC).astimezone(self.zone(at_ms)).time()
        return clock >= time(22) or clock < time(7)

    def changes(self, from_ms: int, to_ms: int) -> Iterator[str]:
        """Say whether a clock that stayed in its zone was put on, or back, in between."""
        zone = self.zone(to_ms)
        before, after = (
            datetime.fromtimestamp(at_ms / 1000, tz=zone).utcoffset() for at_ms in (from_ms, to_ms)
        )
        if zone == self.zone(from_ms) and before != after:
            yield "clock change" if zone.key == self.trip.home else "clock change again"

    def shown(self, at_ms: int) -> str:
        return f"{datetime.fromtimestamp(at_ms / 1000, tz=UTC).astimezone(self.zone(at_ms)):%a %F %T %Z}"

    def digests(self) -> Iterator[tuple[date, int]]:
        """Each date after a night, and the moment when its digest falls due."""
        yield from self.daily(self.digest_at)

    def daily(self, clock: str) -> Iterator[tuple[date, int]]:
        """Each date after a night, and its first moment at which the clock shows this time."""
        for number in range(1, DAYS + 1):
            yield self.day(number), self.at(number, clock)


def _first(day: date, clock: time, zone: ZoneInfo) -> int:
    """Go through the day by the minute: a time that is left out is the first after it."""
    around = datetime.combine(day, clock, zone).astimezone(UTC)
    moment = around - timedelta(hours=_HOURS_BESIDE)
    while (here := moment.astimezone(zone)).date() < day or (here.date() == day and here.time() < clock):
        moment += timedelta(minutes=1)
    return _ms(moment)


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000) // _MINUTE_MS * _MINUTE_MS
