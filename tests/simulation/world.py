"""Everything around one daemon, in virtual time: who may act next, and what goes wrong."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from autopilot.config.paths import Paths
from autopilot.config.settings import Settings
from autopilot.daemon.desk import Desk
from autopilot.daemon.inbox import Message
from autopilot.daemon.rules import Rules, rules_of
from tests.simulation import channels, configs, deeds, operators, publishers
from tests.simulation.chance import Chance, SeededEntropy
from tests.simulation.clocks import VirtualClock
from tests.simulation.ends import Broken, DaemonKilled, SeedOver
from tests.simulation.forge import VirtualForge
from tests.simulation.invariants import Invariants
from tests.simulation.purse import Purse
from tests.simulation.runners import Runner
from tests.simulation.table import Process, Table
from tests.simulation.vault import Vault, WatchedStore

if TYPE_CHECKING:
    from autopilot.schemas.publication import PublishVerdict
    from tests.simulation.life import Life

_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
_PATIENCE_MS = 12 * _DAY_MS
_MOST_TICKS = 1500
# Midnights near which the clocks of Berlin change, and one at which they do not.
_STARTS = (1_774_728_000_000, 1_792_872_000_000, 1_767_312_000_000, 1_774_745_940_000, 1_792_889_940_000)
_KILLS = (0.0, 0.01, 0.02, 0.05)
_OPENED_ANEW = 0.05


class World:
    """One seed's world."""

    looks_over = False
    """Whether the machine is looked over while the daemon is on."""
    has_channels = False
    """Whether what is told to people goes out."""

    def __init__(self, seed: int, paths: Paths, vault: Vault) -> None:
        self.seed = seed
        self.paths = paths
        self._place = hashlib.sha256(str(paths.state).encode()).hexdigest()[:8]
        self.chance = Chance(seed, "world")
        self.entropy = SeededEntropy(seed)
        self._opening = Chance(seed, "opening")
        self.clock = VirtualClock(self.chance.one_of(_STARTS) + self.chance.between(0, 7_200_000))
        self.table = Table(self)
        self.forge = VirtualForge(self)
        self.purse = Purse(self.clock)
        self.vault = vault
        self.trace: list[str] = []
        self.added: set[int] = set()
        self.verdicts: list[tuple[str, int, PublishVerdict]] = []
        """What publishers have written whole: of which publication, under which fence."""
        self.life: Life | None = None
        self.last_life: Life | None = None
        self.is_calm = False
        self.ticks = 0
        self.disk_is_full = False
        self.boot_ms, self.boot = self.clock.wall_ms - _HOUR_MS, "boot-0"
        self.calm_from_ms = 0
        self.is_stormy = self.chance.is_hit(0.25)
        """Whether most that goes wrong does so between a publisher and the forge."""
        self.is_smooth = self.is_stormy or self.chance.is_hit(0.4)
        """Whether agents do well, so that more of the seed is about publishing."""
        self._acts_left = self.chance.between(*((15, 30) if self.is_stormy else (6, 20)))
        self._kill = self.chance.one_of(_KILLS)
        self._mix = self.chance.one_of((0.0, 0.05, 0.15))
        self._trouble = self.chance.one_of((1.0, 2.0) if self.is_stormy else (0.0, 1.0, 1.0, 2.0))
        self._is_mixing = False
        self.weave = 1.0 if self.is_stormy else self.chance.one_of((0.0, 0.3, 1.0))
        """How often a publisher pauses at a boundary of its own, so that others may act there."""
        self.step_ms = (100, 4000)  # at least and at most, between two looks of a watch at its child
        self._config = 0
        self._stamp = self._started = self._shas = 0
        self.change_config(0)
        self.invariants = Invariants(self)
        self._fields = vault.fields(self.clock, self.entropy)
        self.store = WatchedStore(**self._fields, world=self)

    # --- what is so ---------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        return configs.variants()[self._config]

    def rules_now(self) -> Rules:
        """The limits that the daemon goes by at this moment, which may not have read the file yet."""
        return rules_of(self.settings) if self.life is None else self.life.shop.rules

    def desk(self) -> Desk:
        return Desk(self.store, self.settings, self.paths, self.clock)

    def new_sha(self) -> str:
        self._shas += 1
        return hashlib.sha256(f"{self.seed}/{self._shas}".encode()).hexdigest()[:40]

    def next_start_ms(self) -> int:
        """When a process started; no two with one number started at once."""
        self._started += 1
        return self.clock.wall_ms + self._started

    def note(self, text: str) -> None:
        """Add to the trace, without the name of this play's folder, nor what the daemon makes of that."""
        for name in (str(self.paths.state), self._place):
            text = text.replace(name, "HERE")
        self.trace.append(f"{self.clock.awake_ms} {self.clock.wall_ms} {text}")

    def mark_boot(self) -> None:
        """The machine has started anew."""
        self.boot_ms, self.boot = self.clock.wall_ms, f"boot-{self._shas}-{self._started}"

    def store_fields(self) -> dict[str, Any]:
        """What a new daemon opens; now and then really opened anew, which costs as much as five ticks."""
        if self.last_life is not None and self._opening.is_hit(_OPENED_ANEW):
            self.vault.reopen(self.clock)
            self._fields = self.vault.fields(self.clock, self.entropy)
            self.store = WatchedStore(**self._fields, world=self)
        return self._fields

    def rest(self, life: Life) -> None:
        """The daemon has nothing to do for now.

        Raises:
            SeedOver: nobody has.
            Broken: calm came long ago, and still somebody has.
        """
        self.ticks += 1
        self.clock.is_read()
        if not self.is_calm:
            return
        if not self.invariants.restless() and not self.table.living and life.supervisor.is_idle:
            if leftovers := self.invariants.leftovers():
                raise Broken(leftovers[0])
            raise SeedOver
        if self.clock.wall_ms > self.calm_from_ms + _PATIENCE_MS or self.ticks > _MOST_TICKS:
            left = self.invariants.restless() or [f"{one.kind} {one.mark}" for one in self.table.living]
            raise Broken(f"nothing moves any more, or for ever: {'; '.join(left)}")

    # --- what goes wrong ----------------------------------------------------------------------

    def is_fault(self, probability: float) -> bool:
        """Tell whether something goes wrong now; never once calm has come."""
        return not self.is_calm and self.chance.is_hit(probability * self._trouble)

    def boundary(self, effect: str) -> None:
        """Between two effects of the daemon: it may die here, or somebody else may act.

        Raises:
            DaemonKilled: it died.
        """
        self.only_alive()
        if self.is_calm:
            return
        if self.chance.is_hit(self._kill):
            self.note(f"killed at: {effect}")
            self.die()
        if not self._is_mixing and self.chance.is_hit(self._mix):
            self._is_mixing = True
            try:
                deeds.act(self)
            finally:
                self._is_mixing = False

    def only_alive(self) -> None:
        """Let nothing happen after a kill: a `finally` on its way would run here, and never does there.

        Raises:
            DaemonKilled: it has died.
        """
        if self.life is not None and self.life.is_dead:
            raise DaemonKilled

    def die(self) -> NoReturn:
        """The daemon is killed, here and now.

        Raises:
            DaemonKilled: always.
        """
        if self.life is not None:
            self.life.is_dead = True
        raise DaemonKilled

    def overtake(self) -> None:
        """Somebody is faster than the one who is about to write."""
        if self.is_calm or not self.chance.is_hit(self._mix):
            return
        if self.life is not None and self.life.is_waiting:
            self.note("the daemon is faster")
            self.life.tick()
        elif not self._is_mixing:
            self._is_mixing = True
            try:
                operators.act(self)
            finally:
                self._is_mixing = False

    def write(self, real: Any, path: Path, data: bytes) -> None:
        """Stand in for `write_atomically` in the daemon: it may fail, or be the last thing that was done."""
        self.boundary(f"write {path.name}")
        if self.disk_is_full or self.is_fault(0.03):
            self.note(f"no room for {path.name}")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        if self.is_fault(0.01):
            path.with_name(f".{path.name}.torn.part").write_bytes(data[: len(data) // 2])
            self.die()
        real(path, data)
        self.boundary(f"written {path.name}")

    # --- who acts -----------------------------------------------------------------------------

    def tell(self, message: Message) -> None:
        """Tell the daemon, if it is there."""
        if self.life is not None:
            self.life.inbox.put(message)

    def change_config(self, number: int | None = None) -> None:
        """Another configuration is in force from the next tick on."""
        self._config = self.chance.between(0, len(configs.variants()) - 1) if number is None else number
        self._stamp += 1
        self.paths.config_file.write_text(f"# {self._config}\n")
        os.utime(self.paths.config_file, ns=(0, self._stamp))

    def bring_to_life(self, child: Process, spec_file: Path) -> None:
        match child.kind:
            case "runner":
                Runner(self, child, spec_file)
            case "publisher":
                publishers.publish(self, child, spec_file)
            case "courier":
                channels.deliver(self, child, spec_file)
            case _:
                publishers.inquire(self, child, spec_file)

    def turn(self, deadline_ms: int) -> None:
        """Let the next thing happen, at most until a moment of time awake."""
        if not self.is_calm and self.chance.is_hit(0.3):
            self._acts_left -= 1
            if self._acts_left < 0:
                self._calm_down()
            else:
                deeds.act(self)
            return
        self._advance(deadline_ms)

    def _calm_down(self) -> None:
        """Nothing goes wrong any more, and the operator leaves the switch at on."""
        self.note("calm")
        self.is_calm, self.disk_is_full = True, False
        self.calm_from_ms = self.clock.wall_ms
        self.table.settle()
        self.forge.settle()
        self.change_config(0)
        operators.leave_on(self)

    def _advance(self, deadline_ms: int) -> None:
        due = [each.due_ms for each in self.table.living if each.due_ms is not None and not each.is_frozen]
        due += [] if self.life is None else self.life.due_ms()
        if self.is_calm and not self.table.living and (self.life is None or self.life.is_idle):
            self._doze(min([deadline_ms, *due]))
        before_ms = self.clock.awake_ms
        self.clock.go_to(min([deadline_ms, *due]))
        self.table.mind_leases(self.clock.awake_ms - before_ms)
        for each in self.chance.shuffled(self.table.living):
            if each.is_ready and (each.due_ms or 0) <= self.clock.awake_ms:
                self.table.go_on(each)
        if self.life is not None:
            self.life.watch()

    def _doze(self, next_ms: int) -> None:
        """Nobody works and nobody waits: the machine sleeps until shortly before the appointment."""
        self.forge.merge_all()
        appointed = None if self.life is None else self.life.scheduler.appointment_ms()
        if appointed is not None:
            ahead_ms = appointed - self.clock.wall_ms - (next_ms - self.clock.awake_ms)
            if ahead_ms > 0:
                self.note(f"dozes for {ahead_ms} ms")
                self.clock.sleep(ahead_ms)
