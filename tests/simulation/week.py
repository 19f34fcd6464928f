"""A week on virtual time, with everything that goes wrong in one: see `trips.py` for its clocks.

The daemon's own parts play it, as in `world.py`; only what goes wrong is laid down beforehand, by the seed.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autopilot.config import secrets
from autopilot.config.paths import Paths
from autopilot.config.settings import Settings
from autopilot.daemon import app, desk
from autopilot.publish import credential
from autopilot.schemas.errors import ConfigError, TransientError
from autopilot.schemas.ids import short_id_of
from tests.simulation import configs, lookover, troubles
from tests.simulation.chance import Chance
from tests.simulation.copying import Copied, around_copies
from tests.simulation.ends import Broken, Patch, SeedOver
from tests.simulation.night_runs import NightForge, NightRunner
from tests.simulation.promises import Promises
from tests.simulation.table import Process
from tests.simulation.trips import DAYS
from tests.simulation.vault import Vault
from tests.simulation.world import World

if TYPE_CHECKING:
    from tests.simulation.life import Life

_MINUTE_MS = 60_000
_MOST_TICKS = 40_000
LONGEST_WAIT_S = 600.0
"""Instead of 60 s: an idle hour is then 6 ticks. Nothing that is due hangs on it, appointments are kept."""


@dataclass(frozen=True, slots=True)
class Deed:
    """Something happens at a moment of the wall's clock, or at the wake after it."""

    at_ms: int
    name: str
    act: Callable[[], None]
    is_awake_only: bool = False
    """What cannot happen to a machine that sleeps."""


class Week(World):
    """One seed's week."""

    looks_over = True

    def __init__(self, seed: int, paths: Paths, vault: Vault) -> None:
        super().__init__(seed, paths, vault)
        self.plan = Chance(seed, "week")
        self.troubles = troubles.of(seed, self.plan)
        self.calendar, self.full = self.troubles.calendar, self.troubles.full
        self.clock.wall_ms = self.calendar.at(0, "18:00")
        self.boot_ms = self.clock.wall_ms - _MINUTE_MS
        self.end_ms = self.calendar.at(DAYS, "18:00")
        self._kill = self._mix = self._trouble = self.weave = 0.0
        self.is_stormy = False
        self.step_ms = (30_000, 90_000)
        self.forge = NightForge(self)
        self.is_locked = self.is_revoked = self.is_signed_out = self.is_cut_off = False
        self.seen_ms = self.clock.wall_ms
        self.marks = Counter[str]()
        """What really came about: a fault that hit nothing proves nothing."""
        self.promises = self.invariants = Promises(self)
        self.copied = Copied(self)
        self._deeds = sorted(self._laid_down(), key=lambda deed: deed.at_ms)

    # --- what is laid down ---------------------------------------------------------------------

    def _laid_down(self) -> list[Deed]:
        plan, at = self.plan, self.calendar.at
        deeds = [Deed(at(0, "18:10"), "on", lambda: self._do(desk.turn_on))]
        deeds.append(Deed(self.calendar.flight_ms, "flight", lambda: self.change_config(1)))
        for day in range(DAYS):
            many = plan.between(*self.troubles.evening)
            deeds.append(Deed(at(day, "18:30"), "tickets", partial(self._add, many)))
            deeds.append(Deed(at(day + 1, "09:45"), "a ticket", partial(self._add, 1)))
            deeds.append(Deed(at(day + 1, "10:00"), "review", self._review))
        deeds += [self._sleep(*each) for each in self.troubles.sleeps]
        reboot = partial(self._reboot, self.troubles.off_ms)
        deeds.append(Deed(self.troubles.reboot_ms, "reboot", reboot, is_awake_only=True))
        for name, (from_ms, to_ms) in self.troubles.spans.items():
            deeds.append(Deed(from_ms, name, partial(self._set, name, True), is_awake_only=True))
            deeds.append(Deed(to_ms, f"not {name}", partial(self._set, name, False)))
        return deeds

    def _sleep(self, from_ms: int, until_ms: int) -> Deed:
        def act() -> None:
            ms = until_ms - self.clock.wall_ms
            if ms > 0:
                self.promises.sleeps(self.clock.wall_ms, ms)
                self.clock.sleep(ms)

        return Deed(from_ms, "sleep", act)

    def _set(self, name: str, value: bool) -> None:
        if getattr(self, name) is not value:
            self.promises.trouble(name, begins=value)
        setattr(self, name, value)
        if name == "disk_is_full":
            self.marks[f"full {self.full}"] += value
            self.promises.is_away(self.clock.wall_ms, begins=value)

    def _reboot(self, off_ms: int) -> None:
        began_ms = self.clock.wall_ms
        self.table.end_all()
        self.clock.restart()
        self.clock.go_to(self.clock.awake_ms + off_ms)
        self.promises.was_off(began_ms, self.clock.wall_ms)
        self.boot_ms, self.boot = self.clock.wall_ms, f"boot-{began_ms}"
        self.marks["reboot"] += 1
        if self.life is not None:
            self.die()

    def _do(self, act: Callable[..., Any], *values: Any) -> Any:
        return act(self.desk(), *values)

    def _add(self, many: int) -> None:
        for _ in range(many):
            fields = {"title": "Work", "repo": self.plan.one_of(("shop", "till"))}
            added = self._do(desk.add, fields)["ticket"]
            self.added.add(short_id_of(added["id"]))

    def _review(self) -> None:
        """The operator looks through what the night left."""
        self.forge.merge_all()
        for row in self.invariants.tickets:
            if row["state"] == "parked" and not any(getattr(self, name) for name in troubles.SPANS):
                self._do(desk.resume, f"T-{row['short_id']}")

    # --- how the world goes on -----------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        trip = self.calendar.trip
        return configs.of_week(trip.abroad if self._config else trip.home, self.calendar.digest_at)

    def rest(self, life: Life) -> None:
        self.ticks += 1
        self.clock.is_read()
        self.marks.update(self.calendar.changes(self.seen_ms, self.clock.wall_ms))
        self.seen_ms = self.clock.wall_ms
        if self.clock.wall_ms >= self.end_ms:
            if faults := self.promises.reckon():
                raise Broken(faults[0])
            self.marks[f"to {self.calendar.trip.abroad}"] += 1
            self.note(f"marks: {', '.join(sorted(name for name, many in self.marks.items() if many))}")
            raise SeedOver
        if self.ticks > _MOST_TICKS:
            raise Broken("the week does not end")

    def turn(self, deadline_ms: int) -> None:
        if self._deeds and self._deeds[0].at_ms <= self.clock.wall_ms:
            deed = self._deeds.pop(0)
            if deed.is_awake_only and deed.at_ms + _MINUTE_MS < self.clock.wall_ms:
                return
            self.note(f"{self.calendar.shown(self.clock.wall_ms)}: {deed.name}")
            deed.act()
            return
        ahead_ms = self._deeds[0].at_ms - self.clock.wall_ms if self._deeds else _MINUTE_MS
        self._advance(min(deadline_ms, self.clock.awake_ms + ahead_ms))

    def boundary(self, effect: str) -> None:
        super().boundary(effect)
        if effect == "transaction" and self.disk_is_full and self.full == "all":
            raise TransientError("database-full", "the disk is full", hint="free some")

    def write(self, real: Any, path: Path, data: bytes) -> None:
        if self.disk_is_full and self.full == "low":
            real(path, data)
        elif self.disk_is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        else:
            super().write(real, path, data)
        if path.parent == self.paths.digests:
            self.promises.digest(path)

    def bring_to_life(self, child: Process, spec_file: Path) -> None:
        if child.kind == "look":
            lookover.look_over(self, child, spec_file)
            return
        if child.kind != "runner":
            super().bring_to_life(child, spec_file)
            return
        self.promises.launched(child.mark)
        NightRunner(self, child, spec_file)


def around_week(week: Week) -> tuple[Patch, ...]:
    """What the product takes from the machine without being handed it, beside what `play.py` names."""
    access = credential.access

    def read(name: str) -> str | None:
        raise ConfigError("credential-locked", f"the credential {name!r} cannot be read", hint="unlock it")

    def lend(name: str, folder: Path, *, then: str) -> Any:
        """The product's own, for a name that it cannot read; without one there is nothing to lend."""
        week.marks["locked"] += week.is_locked
        return access("forge" if week.is_locked else "", folder, then=then)

    return (
        (app, "LONGEST_WAIT_S", LONGEST_WAIT_S),
        (secrets, "read", read),
        (credential, "access", lend),
        *lookover.around_look(week),
        *around_copies(week),
    )
