"""What the digest says of the machine: when it slept and what that cost, sleep locks, schedules in trouble.

Must not read anything: all of it is in the night.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from autopilot.config.plain import one_line
from autopilot.schemas.units import MS_PER_S, format_duration, local_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from autopilot.daemon.digest.night import Night
    from autopilot.daemon.store.nights import Sleep

MOST_SLEEPS = 10
_MAX_CHARS = 300
MARKDOWN_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_[]<>#|"})
WHOSE: Mapping[str, str] = MappingProxyType({"night": "from on to off", "run": "beside runs"})


def lines(night: Night) -> Iterator[str]:
    """Give a line for everything that a person should know of the machine; none where all was well."""
    yield from _slept(night)
    for lock in night.locks:
        if lock.warning:
            whose = WHOSE.get(lock.name, lock.name)
            since = local_time(lock.since_ms, night.zone)
            said = f"{lock.warning}: {lock.detail}" if lock.detail else lock.warning
            what = "no sleep lock" if lock.kind == "none" else "no lock for the lid"
            yield f"{what} {whose} since {since}: {_plain(said)} → `autopilot doctor`"
    for last in night.troubled:
        when = local_time(last.ended_ms if last.outcome == "failed" else last.due_ms, night.zone)
        what = (
            f"failed at {when}: {_plain(last.detail)}" if last.outcome == "failed" else f"was last for {when}"
        )
        yield f"{_plain(last.name)} {what}"


def total(sleeps: Iterable[Sleep]) -> tuple[int, int]:
    """Give how long the machine slept in all, and how much of that was lost, in milliseconds."""
    each = [(one.slept_ms, one.lost_ms) for one in sleeps]
    return sum(slept for slept, _ in each), sum(lost for _, lost in each)


def _slept(night: Night) -> Iterator[str]:
    if not night.sleeps:
        return
    slept_ms, lost_ms = total(night.sleeps)
    count = len(night.sleeps)
    times = f"{count} times, {_long(slept_ms)} in all" if count > 1 else f"for {_long(slept_ms)}"
    cost = f"{_long(lost_ms)} of it in hours for tickets" if lost_ms else "none of it in hours for tickets"
    yield f"it slept {times}; {cost}"
    for one in night.sleeps[:MOST_SLEEPS]:
        broke = f", through {', '.join(map(_plain, one.runs))}" if one.runs else ""
        yield f"asleep from {local_time(one.started_ms, night.zone)} for {_long(one.slept_ms)}{broke}"
    if count > MOST_SLEEPS:
        yield f"and {count - MOST_SLEEPS} times more"


def _long(duration_ms: int) -> str:
    return format_duration(duration_ms / MS_PER_S)


def _plain(text: str) -> str:
    return one_line(text, max_chars=_MAX_CHARS).translate(MARKDOWN_SPECIAL)
