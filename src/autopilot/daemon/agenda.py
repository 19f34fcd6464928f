"""What happens next by itself, and how each schedule went last: for `status` and the digest.

Must not decide whether anything is due: each schedule asks for itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.daemon import demand, schedules, windows
from autopilot.daemon.store import nights, queries_host, queries_tickets
from autopilot.schemas.units import MS_PER_S, local_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from autopilot.config.settings import Settings
    from autopilot.daemon.store.nights import LastTime
    from autopilot.daemon.store.rows import Switch

STALE_MS = 48 * 3600 * MS_PER_S
"""A daily schedule whose last date lies further back has missed one, and says so."""


@dataclass(frozen=True, slots=True)
class Upcoming:
    """One thing that happens by itself, and when: UTC epoch ms, and as the operator's clock shows it."""

    name: str
    at_ms: int
    local: str


def ahead(conn: Connection, settings: Settings, now_ms: int) -> tuple[Upcoming, ...]:
    """Give everything ahead that has a time, the soonest first."""
    zone = demand.zone_of(settings)
    switch = queries_host.switch(conn)
    found = [*_hours(settings, switch, now_ms), *_schedules(conn, settings, now_ms)]
    ticket_ms = queries_tickets.next_due_ms(conn, now_ms)
    if ticket_ms is not None:
        found.append(("a ticket's wait ends", ticket_ms))
    return tuple(
        Upcoming(name, at_ms, local_time(at_ms, zone))
        for name, at_ms in sorted(found, key=lambda each: (each[1], each[0]))
        if at_ms >= now_ms
    )


def troubled(conn: Connection, now_ms: int) -> tuple[LastTime, ...]:
    """Give the schedules that failed last, or whose last date lies more than two days back."""
    return tuple(
        last for last in nights.schedules(conn) if last.outcome == "failed" or is_stale(last, now_ms)
    )


def is_stale(last: LastTime, now_ms: int) -> bool:
    """Tell whether a daily schedule has missed a date."""
    return last.name in schedules.DAILY and now_ms - last.due_ms > STALE_MS


def _hours(settings: Settings, switch: Switch, now_ms: int) -> Iterator[tuple[str, int]]:
    schedule = demand.schedule_of(settings)
    if schedule is not None and not switch.ignore_window:
        if windows.is_open(schedule, now_ms):
            closes_ms = windows.closes_ms(schedule, now_ms)
            yield from () if closes_ms is None else [("the window closes", closes_ms)]
        else:
            yield "the window opens", windows.opens_ms(schedule, now_ms)
    if switch.is_on and switch.until_ms is not None:
        yield "the switch turns off", switch.until_ms
    if switch.drain_until_ms is not None:
        yield "what still runs is stopped", switch.drain_until_ms


def _schedules(conn: Connection, settings: Settings, now_ms: int) -> Iterator[tuple[str, int]]:
    again = {last.name: last.next_ms for last in nights.schedules(conn) if last.outcome == "failed"}
    zone = demand.zone_of(settings)
    for name, at in schedules.times(settings).items():
        yield name, max(now_ms, again[name]) if name in again else windows.next_due_ms(at, zone, now_ms)
