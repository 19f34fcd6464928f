"""What held the queue in a week: as it stood in the database at every moment, and as digests tell of it.

Must not ask the product whether a hold is right: it looks at the world, and at the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.simulation.invariants import Row
    from tests.simulation.week import Week

_MINUTE_MS = 60_000
_DAY_MS = 24 * 60 * _MINUTE_MS
_RUNS = r"T-\d+(, T-\d+)*"
SAID: Mapping[str, tuple[str, str]] = {
    "outside-window": (r"nothing starts outside 22:00-07:00", r"`autopilot on --now`"),
    "disk-low": (r"0\.0 GiB of disk free; at least 1\.0 GiB are kept", r"free some disk, or lower .+"),
    "slots-full": (r"2 of 2 runs are under way", r"clears when one ends"),
    "repo-busy": (rf"{_RUNS} works in it; 1 may at once", r"clears when that run ends"),
    "credential": (
        r"credential forge: is locked",
        r"unlock the key ring, as a log-in does, or set \w+ where the daemon is started",
    ),
    "agent-sign-in": (r"account of scripted: its key is refused \[agent-unauthorized\]", r"sign in anew"),
    "remote-unreachable": (
        r"repository (shop|till): the remote does not answer",
        r"see to the network",
    ),
    "breaker-open": (
        r"\d attempts in a row produced nothing \(credential\).*",
        r"mend the cause, then `autopilot breaker reset agent:scripted`; or wait for the probe",
    ),
    "not-before": (r"not before \d{4}-.+", r"clears by itself"),
}
"""The cause and the cure that each hold must give, as patterns of the whole."""

LOOKED_FOR: Mapping[str, str] = {
    "is_locked": "credential",
    "is_signed_out": "agent-sign-in",
    "is_cut_off": "remote-unreachable",
}
"""What a look over the machine finds, and the hold that it makes of it."""
_LATE_MS = 15 * _MINUTE_MS
"""How long after its end a trouble may still be found by a look that had begun before."""


@dataclass
class _Stood:
    """One hold, from when it was seen first to when it was seen no more."""

    since_ms: int
    until_ms: int | None = None
    causes: set[str] = field(default_factory=set)


class Held:
    """One observer of one week's holds."""

    def __init__(self, week: Week) -> None:
        self._week = week
        self._standing: dict[tuple[str, str], _Stood] = {}
        self._past: list[tuple[tuple[str, str], _Stood]] = []
        self._mended: dict[str, int] = {}

    def trouble(self, name: str, *, begins: bool) -> None:
        """Remember until when something was wrong, in milliseconds awake."""
        if not begins:
            self._mended[name] = self._week.clock.awake_ms

    def look(self, rows: Iterable[Row]) -> Iterator[str]:
        """Each names cause, start and cure, is true, and one that stands keeps its start."""
        now_ms, seen = self._week.clock.wall_ms, {(row["name"], row["scope"]): row for row in rows}
        for key, row in seen.items():
            self._week.marks[row["name"]] += 1
            yield from self._words(row)
            if key not in self._standing:
                yield from self._truth(*key)
            stood = self._standing.setdefault(key, _Stood(row["since_ms"]))
            stood.causes.add(row["cause"])
            if stood.since_ms != row["since_ms"]:
                yield f"the hold {row['name']} of {row['scope']} stands, and has another start"
        for key in [key for key in self._standing if key not in seen]:
            stood = self._standing.pop(key)
            stood.until_ms = now_ms
            self._past.append((key, stood))

    def told(self, name: str, text: str, told: dict[str, Any]) -> Iterator[str]:
        """Give what a digest leaves out of the holds of its day, or adds to them."""
        since_ms = self._week.clock.wall_ms - _DAY_MS + _MINUTE_MS
        lately = [(key, stood) for key, stood in self._past if (stood.until_ms or 0) >= since_ms]
        just_before = [key for key, stood in self._past if (stood.until_ms or 0) >= since_ms - 2 * _MINUTE_MS]
        yield from _compared(f"{name}, of holds that stand", told["holds"], self._standing.items())
        yield from _compared(f"{name}, of holds that ended", told["past_holds"], lately, just_before)
        for (hold, scope), stood in (*self._standing.items(), *lately):
            self._week.marks[f"{hold} in a digest"] += 1
            if hold not in text:
                yield f"{name} says nothing of {hold} of {scope}, since {stood.since_ms}"
        for each in (*told["holds"], *told["past_holds"]):
            yield from self._words(each)

    def _words(self, row: Row | dict[str, Any]) -> Iterator[str]:
        """A hold says what it is about, in the words of its name, and since when it is."""
        cause, cure = SAID.get(row["name"], ("no such hold", ""))
        if not (re.fullmatch(cause, row["cause"]) and re.fullmatch(cure, row["cure"])):
            yield f"the hold {row['name']} of {row['scope']} is said to be: {row['cause']} -> {row['cure']}"
        if not 0 < row["since_ms"] <= self._week.clock.wall_ms:
            yield f"the hold {row['name']} of {row['scope']} began at {row['since_ms']}"

    def _truth(self, name: str, scope: str) -> Iterator[str]:
        """What a hold that begins says is so."""
        week = self._week
        is_so = {
            "outside-window": not week.calendar.is_night(week.clock.wall_ms - _MINUTE_MS)
            or not week.calendar.is_night(week.clock.wall_ms),
            "disk-low": week.disk_is_full,
            **{hold: self._is_so(trouble) for trouble, hold in LOOKED_FOR.items()},
        }
        if not is_so.get(name, True):
            yield f"the hold {name} of {scope} began at {week.calendar.shown(week.clock.wall_ms)}, of nothing"

    def _is_so(self, trouble: str) -> bool:
        late_ms = self._week.clock.awake_ms - self._mended.get(trouble, -_LATE_MS)
        return bool(getattr(self._week, trouble)) or late_ms < _LATE_MS


def _compared(
    about: str,
    told: list[dict[str, Any]],
    seen: Iterable[tuple[tuple[str, str], _Stood]],
    also: Iterable[tuple[str, str]] = (),
) -> Iterator[str]:
    """Compare names, scopes and causes; what ended just before the digest's day may be told, or not."""
    causes: dict[tuple[str, str], set[str]] = {}
    for key, stood in seen:
        causes.setdefault(key, set()).update(stood.causes)
    said = {(each["name"], each["scope"]): each["cause"] for each in told}
    if missing := causes.keys() - said.keys():
        yield f"{about}: {sorted(missing)} are missing"
    if more := said.keys() - causes.keys() - set(also):
        yield f"{about}: {sorted(more)} never stood"
    for key in sorted(said.keys() & causes.keys()):
        if said[key] not in causes[key]:
            yield f"{about}: {key} was never because of {said[key]!r}"
