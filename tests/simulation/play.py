"""Plays one seed from an empty queue to rest."""

from __future__ import annotations

import hashlib
import shutil
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace

from autopilot.config.atomic import write_atomically
from autopilot.config.paths import paths_below
from autopilot.daemon import demand, faults, inquiry, publishing, running
from autopilot.daemon.delivery import rounds
from autopilot.daemon.digest import gather
from autopilot.publish import delivery, open_draft
from autopilot.publish.forges import registry
from autopilot.schemas.errors import AutopilotError
from tests.simulation import channels, operators, publishers
from tests.simulation.channels import ChannelWorld
from tests.simulation.clocks import VirtualClock
from tests.simulation.ends import Broken, DaemonKilled, Patch, SeedOver
from tests.simulation.life import Life
from tests.simulation.reading import reading
from tests.simulation.vault import Vault
from tests.simulation.week import Week, around_week
from tests.simulation.world import World

_EXPECTED = (OSError, AutopilotError)
_MOST_LIVES = 60


@dataclass(frozen=True, slots=True)
class Played:
    """What became of one seed."""

    seed: int
    fault: str
    ticks: int
    trace: tuple[str, ...]

    @property
    def digest(self) -> str:
        """The same for the same play."""
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()[:16]


class Stage:
    """A folder with one database, for one seed after the other."""

    def __init__(self, folder: Path, queue: bytes | None = None) -> None:
        self._paths = paths_below(folder)
        self._paths.ensure()
        if queue is not None:
            self._paths.database.write_bytes(queue)
        self._vault = Vault(self._paths.database, VirtualClock(0))

    def play(
        self, seed: int, patches: tuple[Patch, ...] = (), *, is_week: bool = False, has_channels: bool = False
    ) -> Played:
        """Play one seed; `patches` are faults planted into the product."""
        self._clear()
        kind = Week if is_week else ChannelWorld if has_channels else World
        world = kind(seed, self._paths, self._vault)
        around = _around(world) + (around_week(world) if isinstance(world, Week) else ())
        try:
            with patched(*around, *patches):
                fault = _play(world)
        finally:
            world.table.close()
            world.forge.close()
        return Played(seed, fault, world.ticks, tuple(world.trace))

    def _clear(self) -> None:
        paths = self._paths
        for folder in (
            paths.runs,
            paths.pr_requests,
            paths.digests,
            paths.deliveries,
            paths.state / "drafts",
            paths.state / "checkup",
            paths.state / "backups",
        ):
            shutil.rmtree(folder, ignore_errors=True)
        paths.ensure()
        self._vault.reset()


def _play(world: World) -> str:
    """One life after the other; a text says what is broken."""
    try:
        if not (is_week := isinstance(world, Week)):
            operators.begin(world)
        for _ in range(_MOST_LIVES):
            _live(world)
            world.note("the daemon is down")
            while not (is_week or world.life or world.is_calm) and world.chance.is_hit(0.6):
                _without_daemon(world)
    except SeedOver:
        return ""
    except Broken as broken:
        return str(broken)
    return f"{_MOST_LIVES} daemons, and still no rest"


def _live(world: World) -> None:
    try:
        world.life = Life(world)
        world.life.live()
        world.note("the daemon has stopped")
    except DaemonKilled:
        world.note("the daemon was killed")
    except AutopilotError as error:
        world.note(f"the daemon failed: {error.code}")
        if world.is_calm:
            raise Broken(f"the daemon failed in calm: {error}") from error
    finally:
        world.last_life, world.life = world.life, None


def _without_daemon(world: World) -> None:
    try:
        world.turn(world.clock.awake_ms + 20_000)
    except DaemonKilled:
        return


def _around(world: World) -> tuple[Patch, ...]:
    """What the product takes from the machine without being handed it."""
    write = partial(world.write, write_atomically)
    memory = SimpleNamespace(virtual_memory=lambda: SimpleNamespace(available=1 << 40))
    return (
        (running, "write_atomically", write),
        (publishing, "write_atomically", write),
        (inquiry, "write_atomically", write),
        (gather, "write_atomically", write),
        (rounds, "write_atomically", write),
        (delivery, "prepared", channels.prepared(world)),
        (demand, "_free_disk_bytes", lambda _: 0 if world.disk_is_full else 1 << 40),
        (demand, "psutil", memory),
        (demand, "load_per_cpu", lambda: 0.0),
        (open_draft, "gather", publishers.facts),
        (registry, "open_forge", publishers.opener(world)),
        (faults, "told", partial(_told, world)),
        *reading(world),
    )


def _told(world: World, error: BaseException) -> dict[str, str]:
    """The loop has contained a fault: one that nobody injected is a bug of the product."""
    world.note(f"contained: {error!r}")
    if not isinstance(error, _EXPECTED) or getattr(error, "exit_code", 0) == 70:
        trace = "".join(traceback.format_exception(error)[-3:])
        raise Broken(f"the loop contained {error!r}: {trace}")
    return {"error": repr(error)}


@contextmanager
def patched(*patches: Patch) -> Iterator[None]:
    """Replace attributes for a while."""
    before = [(place, name, getattr(place, name)) for place, name, _ in patches]
    for place, name, value in patches:
        setattr(place, name, value)
    try:
        yield
    finally:
        for place, name, value in reversed(before):
            setattr(place, name, value)
