"""A world whose operator is told of the night: couriers, whoever receives, and what must hold of both.

Only here is anything sent, so that the seeds of all other worlds stay what they are.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autopilot.config.paths import Paths
from autopilot.config.settings import Settings
from autopilot.publish import delivery
from autopilot.publish.channels.sent import Sent, sent
from autopilot.publish.files import read_spec, write_report
from autopilot.schemas.delivery import DeliveryReport, DeliverySpec
from tests.simulation import configs
from tests.simulation.ends import BADLY, ChildHangs, ChildKilled, Script, badly_written
from tests.simulation.invariants import Invariants
from tests.simulation.table import Process, unread
from tests.simulation.vault import Vault
from tests.simulation.world import World

if TYPE_CHECKING:
    from sqlite3 import Row

_FATES = (
    *("away", "away", "rejected", "before lost", "after lost"),
    *("before killed", "after killed", "before hangs", "after hangs"),
)
_TROUBLE, _BAD_WRITE = 0.3, 0.1


class ChannelWorld(World):
    """As any, with channels."""

    has_channels = True

    def __init__(self, seed: int, paths: Paths, vault: Vault) -> None:
        super().__init__(seed, paths, vault)
        self.arrived = Counter[str]()
        """What came in, by the folder of its delivery."""
        self.invariants = Arrivals(self)

    @property
    def settings(self) -> Settings:
        return configs.with_channels()[self._config]


class Arrivals(Invariants):
    """What holds in any world; and nothing arrives twice, or under another name than that of what it was."""

    def _brakes(self) -> Iterator[str]:
        yield from super()._brakes()
        arrived = self._channel_world.arrived
        rows = self.rows("SELECT * FROM deliveries")
        for row in rows:
            what, count = f"{row['subject']} through {row['channel']} ({row['state']})", arrived[_folder(row)]
            if count > 1:
                yield f"{what}: arrived {count} times"
            if row["state"] == "sent" and count != 1:
                yield f"{what}: it never arrived"
            if row["state"] in {"waiting", "failed", "refused"} and count:
                yield f"{what}: it has arrived"
        for stranger in arrived.keys() - {_folder(row) for row in rows}:
            yield f"{stranger}: arrived, and nobody knows of it"

    def restless(self) -> list[str]:
        under_way = self.rows("SELECT * FROM deliveries WHERE ended_ms IS NULL")
        return [*super().restless(), *(f"{row['subject']} is {row['state']}" for row in under_way)]

    @property
    def _channel_world(self) -> ChannelWorld:
        assert isinstance(self._world, ChannelWorld)
        return self._world


def deliver(world: World, process: Process, spec_file: Path) -> None:
    """Make a courier's publisher of a process."""
    spec = read_spec(DeliverySpec, spec_file)
    process.script = unread() if world.is_fault(0.01) else _delivering(world, spec)
    process.due_ms = world.clock.awake_ms + world.chance.between(50, 5000)
    process.on_term = None if world.is_fault(0.2) else _stopped(world, spec)


def _delivering(world: World, spec: DeliverySpec) -> Script:
    report = delivery.deliver(spec, clock=world.clock, folder=spec.workdir)
    yield world.chance.between(0, 2000)
    _write(world, spec, report)
    yield world.chance.between(0, 200)
    return 0


def _stopped(world: World, spec: DeliverySpec) -> Script:
    report = delivery.stopped(spec, "stopped", "it was told to stop", now_ms=world.clock.wall_ms)
    _write(world, spec, report)
    yield 5
    return 0


def _write(world: World, spec: DeliverySpec, report: DeliveryReport) -> None:
    fate = world.chance.one_of(BADLY) if world.chance.is_hit(_BAD_WRITE) else ""
    world.note(f"courier of {spec.id}: {report.outcome} {report.code} {fate}".rstrip())
    left = badly_written(spec.report, report, fate=fate, chance=world.chance, other_id="0-0")
    if left is not None:
        write_report(spec.report, left)


def prepared(world: World) -> Any:
    """Stands in for `registry.prepared`: the other end, and the network before it, which are never calm."""

    def prepare(spec: DeliverySpec, text: str, **_: Any) -> Callable[[], Sent]:
        return partial(_sent, world, spec)

    return prepare


def _sent(world: World, spec: DeliverySpec) -> Sent:
    assert isinstance(world, ChannelWorld)
    fate = world.chance.one_of(_FATES) if world.chance.is_hit(_TROUBLE) else "well"
    world.note(f"{spec.id} goes {fate}")
    place, _, what = fate.rpartition(" ")
    if place == "after" or what == "well":
        world.arrived[spec.mark.parent.name] += 1
    match what:
        case "killed":
            raise ChildKilled
        case "hangs":
            raise ChildHangs
        case "lost":
            return Sent("unsure", "no-answer", "it may have been sent", "look")
        case "away":
            return Sent("not-sent", "not-connected", "no connection was made", "wait")
        case "rejected":
            return Sent("rejected", "channel-rejected", "it answered with 404", "look")
        case _:
            return sent()


def _folder(row: Row) -> str:
    known_by = hashlib.sha256(f"{row['subject']}\0{row['channel']}".encode()).hexdigest()[:16]
    return f"{row['kind']}-{known_by}"
