"""What goes wrong in a week, and when: drawn by the seed; of one week given, so that nothing is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.simulation.chance import Chance
from tests.simulation.trips import DAYS, TRIPS, Calendar

_MINUTE_MS = 60_000
GIVEN = 0
"""The seed whose week is not drawn."""
SPANS = ("is_locked", "is_revoked", "is_signed_out", "is_cut_off", "disk_is_full")
"""A locked key ring; a forge's token and an agent's that are refused; no way to the remotes; no room."""
ALL_OF_IT = frozenset(
    {
        *("copy", "sleep", "broken", "given back", "reboot", "clock change", "clock change again"),
        *("locked", "revoked", "signed out", "cut off", "full low"),
        *(
            f"{hold} in a digest"
            for hold in ("credential", "agent-sign-in", "remote-unreachable", "disk-low", "outside-window")
        ),
        "parked in a digest",
    }
)
"""What has to come about in the given week."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Troubles:
    """Moments are UTC epoch ms."""

    calendar: Calendar
    full: str
    """What a full disk does: it is below the floor; no file can be written; the queue cannot either."""
    sleeps: tuple[tuple[int, int], ...]
    reboot_ms: int
    off_ms: int
    """How long the machine is off."""
    spans: Mapping[str, tuple[int, int]]
    evening: tuple[int, int]
    """How many tickets an evening brings, at least and at most."""


def of(seed: int, plan: Chance) -> Troubles:
    """Give those of a seed."""
    return given() if seed == GIVEN else drawn(plan)


def given() -> Troubles:
    """Everything once: holds that begin and end within a night, and a clock that changes in two of them."""
    calendar = Calendar(TRIPS[0], flight=4, digest_at="07:30")
    at = calendar.at
    return Troubles(
        calendar=calendar,
        full="low",
        sleeps=(
            (at(2, "06:10"), at(2, "09:30")),
            (at(6, "20:30"), at(7, "13:00")),
            (at(7, "23:40"), at(8, "03:20")),
        ),
        reboot_ms=at(2, "23:50"),
        off_ms=90 * _MINUTE_MS,
        spans={
            "disk_is_full": (at(0, "22:20"), at(1, "04:10")),
            "is_locked": (at(1, "22:20"), at(2, "01:30")),
            "is_signed_out": (at(3, "22:20"), at(4, "02:00")),
            "is_revoked": (at(4, "22:20"), at(5, "09:40")),
            "is_cut_off": (at(5, "22:20"), at(6, "01:30")),
        },
        evening=(4, 4),
    )


def drawn(plan: Chance) -> Troubles:
    """Let the seed say when."""
    flight, digest_at = plan.between(2, 5), plan.one_of(("07:30", "07:30", "02:30"))
    calendar = Calendar(plan.one_of(TRIPS), flight, digest_at)
    at, full = calendar.at, plan.one_of(("low", "files", "all"))
    short, morning, long = plan.shuffled(range(DAYS))[:3]
    late_ms = plan.between(0, 120) * _MINUTE_MS
    reboot_ms = at(plan.between(0, DAYS - 1), "23:30") + late_ms
    off_ms = plan.one_of((3, 90, 480)) * _MINUTE_MS
    spans = {}
    for name in SPANS:
        night = plan.between(0, DAYS - 1)
        spans[name] = at(night, "22:20") + late_ms, at(night + 1, "09:40")
        if name == "disk_is_full" and full != "low":  # it is looked at every few seconds then
            due_ms = at(night + 1, digest_at)
            spans[name] = due_ms - 10 * _MINUTE_MS, due_ms + 30 * _MINUTE_MS
    return Troubles(
        calendar=calendar,
        full=full,
        sleeps=(
            (at(short, "23:40"), at(short + 1, "03:20")),
            (at(morning + 1, "06:10"), at(morning + 1, "09:30")),
            (at(long, "20:30"), at(long + 1, "13:00")),
        ),
        reboot_ms=reboot_ms,
        off_ms=off_ms,
        spans=spans,
        evening=(2, 3),
    )
