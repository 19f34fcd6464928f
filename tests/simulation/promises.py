"""What a week must keep: a digest after every night, no start outside the hours, no hold without a reason.

Judges by the clock on the wall (`trips.py`) and by what was laid down, never by the product's own rules.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.schemas.ids import short_id_of
from tests.simulation.held import LOOKED_FOR, Held
from tests.simulation.invariants import Invariants, Row
from tests.simulation.troubles import ALL_OF_IT, GIVEN

if TYPE_CHECKING:
    from tests.simulation.week import Week

_MINUTE_MS = 60_000
_LATE_MS = 25 * _MINUTE_MS
"""After the machine is there and could write: waiting for the forge's word on drafts included."""
_LOOK_MS = 11 * _MINUTE_MS
_SEEN_MS = 40 * _MINUTE_MS
"""Awake, by then a look over the machine has found what is wrong, if a ticket waited meanwhile."""


class Promises(Invariants):
    """One observer of one week."""

    def __init__(self, week: Week) -> None:
        super().__init__(week)
        self._week = week
        self._written: dict[str, list[int]] = defaultdict(list)
        self._away: list[tuple[int, int]] = []
        self._full_ms: int | None = None
        self._slept: list[tuple[int, int]] = []
        self._broken: set[str] = set()
        self._held = Held(week)
        self._since: dict[str, int] = {}
        self._queued: dict[int, int] = {}
        self._refused = Counter[int]()
        self._faults: list[str] = []

    # --- what is told of the world --------------------------------------------------------------

    def sleeps(self, from_ms: int, ms: int) -> None:
        self._slept.append((from_ms, ms))
        self._away.append((from_ms, from_ms + ms))
        self._week.marks["sleep"] += 1

    def was_off(self, from_ms: int, to_ms: int) -> None:
        self._away.append((from_ms, to_ms))
        # Nobody was there to notice a sleep since the last look.
        self._slept = [each for each in self._slept if sum(each) <= self._week.seen_ms]

    def is_away(self, at_ms: int, *, begins: bool) -> None:
        """Nothing can be written from now on, or everything again."""
        if begins:
            self._full_ms = at_ms
        elif self._full_ms is not None:
            self._away += [(self._full_ms, at_ms)] if self._week.full != "low" else []

    def trouble(self, name: str, *, begins: bool) -> None:
        """Something that a look over the machine finds is so from now on, or no more."""
        if begins:
            self._since[name] = self._week.clock.awake_ms
        else:
            self._since.pop(name, None)
        self._held.trouble(name, begins=begins)

    def launched(self, run_id: str) -> None:
        now_ms, calendar = self._week.clock.wall_ms, self._week.calendar
        if not calendar.is_night(now_ms):
            self._faults.append(f"{run_id} was launched outside the window, at {calendar.shown(now_ms)}")
        if self._week.disk_is_full:
            self._faults.append(f"{run_id} was launched beside a full disk, at {calendar.shown(now_ms)}")
        seen_by_ms = self._week.clock.awake_ms - _SEEN_MS
        waited_ms = self._queued.get(short_id_of(run_id.partition("-a")[0]), seen_by_ms)
        for name in LOOKED_FOR.keys() & self._since.keys():
            if max(self._since[name], waited_ms) < seen_by_ms:
                self._faults.append(f"{run_id} was launched beside {name}, at {calendar.shown(now_ms)}")

    def broke(self, run_id: str) -> None:
        """The machine slept through this run."""
        self._broken.add(run_id)
        self._week.marks["broken"] += 1

    def refused(self, ticket: str) -> None:
        """An agent's sign-in was refused in the middle of a run: that attempt is used."""
        self._refused[short_id_of(ticket)] += 1
        self._week.marks["signed out"] += 1

    def digest(self, path: Path) -> None:
        if path.suffix == ".md":
            self._written[path.stem].append(self._week.clock.wall_ms)
            self._faults += self._told(path)

    # --- what must hold ------------------------------------------------------------------------

    def reckon(self) -> list[str]:
        """Name what the week did not keep."""
        return [
            *self._faults,
            *self._digests(),
            *self._sleeps(),
            *self._copies(),
            *self._ends(),
            *self._came_about(),
        ]

    def _brakes(self) -> Iterator[str]:
        yield from super()._brakes()
        yield from self._faults
        yield from self._held.look(self.rows("SELECT * FROM holds"))
        for row in self.tickets:
            if row["state"] == "parked" and not (row["waiting_for"] and row["reason"]):
                yield f"T-{row['short_id']} is parked, and nobody is told for what"
            if row["attempts"] > 1 + self._refused[row["short_id"]]:
                yield f"T-{row['short_id']}: {row['attempts']} attempts, and no agent ever failed by itself"

    def _claim(self, move: Row) -> Iterator[str]:
        yield from super()._claim(move)
        if not self._week.calendar.is_night(move["at_ms"]):
            shown = self._week.calendar.shown(move["at_ms"])
            yield f"{move['run_id']} was claimed outside the window, at {shown}"

    def _moves(self, moves: list[Row]) -> Iterator[str]:
        yield from super()._moves(moves)
        for move in moves:
            if move["to_state"] == "queued":
                self._queued[move["ticket"]] = self._week.clock.awake_ms
            if move["from_state"] == "running" and move["run_id"] in self._broken:
                if move["trigger"] != "release" or "sleep" not in move["reason"]:
                    yield f"{move['run_id']}: a sleep broke it, and it is blamed: {move['trigger']}"
                self._week.marks["given back"] += 1

    def _told(self, path: Path) -> Iterator[str]:
        """A digest names every hold and each sleep of the last day, and every parked ticket."""
        text, told = path.read_text(), json.loads(path.with_suffix(".json").read_text())
        yield from self._held.told(path.name, text, told)
        parked = {row["short_id"] for row in self.tickets if row["state"] == "parked"}
        for number in parked:
            self._week.marks["parked in a digest"] += 1
            if f"T-{number}" not in text:
                yield f"{path.name} says nothing of T-{number}, which waits for a person"
        day_ms = self._week.clock.wall_ms - 24 * 60 * _MINUTE_MS
        missing = {ms for from_ms, ms in self._slept if from_ms + ms >= day_ms}
        missing -= {slept["slept_ms"] for slept in told["sleeps"]}
        if missing or (told["sleeps"] and "asleep" not in text):
            yield f"{path.name} does not tell of a sleep of {missing} ms"

    def _digests(self) -> Iterator[str]:
        for day, due_ms in self._week.calendar.digests():
            found = self._written.pop(f"{day:%Y-%m-%d}", [])
            if len(found) != 1:
                yield f"the night before {day:%Y-%m-%d} has {len(found)} digests"
                continue
            could_ms = self._there_from(due_ms)
            if not due_ms <= found[0] <= could_ms + _LATE_MS:
                shown = self._week.calendar.shown
                yield f"the digest of {day} came at {shown(found[0])}, it could at {shown(could_ms)}"
        yield from (f"a digest of {name}, after no night" for name in self._written)

    def _there_from(self, at_ms: int) -> int:
        """Give the first moment from this one on at which the machine was awake and could write."""
        for from_ms, to_ms in sorted(self._away):
            if from_ms <= at_ms + _LOOK_MS and at_ms < to_ms:
                at_ms = to_ms
        return at_ms

    def _sleeps(self) -> Iterator[str]:
        """Each sleep is written down once, with its start and its length."""
        rows = self.rows("SELECT * FROM sleeps ORDER BY started_ms")
        if [row["slept_ms"] for row in rows] != [ms for _, ms in self._slept]:
            yield f"slept {self._slept}, written down: {[tuple(row) for row in rows]}"
        for row, (from_ms, _) in zip(rows, self._slept, strict=False):
            if abs(row["started_ms"] - from_ms) > _LOOK_MS:
                yield f"a sleep from {from_ms} is said to have begun at {row['started_ms']}"

    def _copies(self) -> Iterator[str]:
        yield from self._week.copied.reckon(self._there_from)

    def _came_about(self) -> Iterator[str]:
        """A fault that hit nothing proves nothing: the given week has them all."""
        if self._week.seed == GIVEN:
            marks = {name for name, many in self._week.marks.items() if many}
            yield from (f"{name} did not come about" for name in sorted(ALL_OF_IT - marks))

    def _ends(self) -> Iterator[str]:
        for row in self.tickets:
            if row["state"] in {"failed", "cancelled"}:
                yield f"T-{row['short_id']} has {row['state']}: {row['reason']}"
