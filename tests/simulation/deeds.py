"""What somebody else does to a seed's world, at any moment: persons, children, the forge, the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation import operators

if TYPE_CHECKING:
    from tests.simulation.world import World

_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
_DEEDS = (
    *(("operator", 14), ("child", 4), ("forge", 3), ("signal", 2)),
    *(("clock", 2), ("sleep", 1), ("disk", 1), ("kill", 1), ("reboot", 1)),
)
_IN_A_STORM = (("operator", 5), ("child", 3), ("forge", 8), ("signal", 6), ("sleep", 1), ("kill", 2))


def act(world: World) -> None:
    """One deed.

    Raises:
        DaemonKilled: the daemon was killed, or the machine went down.
    """
    match deed := world.chance.weighted(_IN_A_STORM if world.is_stormy else _DEEDS):
        case "operator":
            operators.act(world)
        case "child":
            _children_act(world)
        case "forge":
            world.forge.somebody_acts()
        case "signal":
            world.table.freeze_or_wake()
        case "clock":
            ms = world.chance.one_of([_DAY_MS, _DAY_MS, -_DAY_MS, _HOUR_MS, -_HOUR_MS, 45_000])
            world.note(f"the clock is set by {ms} ms")
            world.clock.jump(ms)
        case "sleep":
            ms = world.chance.between(60_000, 9 * _HOUR_MS)
            world.note(f"the machine sleeps for {ms} ms")
            world.clock.sleep(ms)
        case "disk":
            world.disk_is_full = not world.disk_is_full
        case _:
            _crash(world, deed)


def _crash(world: World, deed: str) -> None:
    world.note(deed)
    if deed == "reboot":
        world.table.end_all()
        world.clock.restart()
        world.clock.go_to(world.clock.awake_ms + 60_000)
        world.mark_boot()
    if world.life is not None:
        world.die()


def _children_act(world: World) -> None:
    ready = [each for each in world.table.living if each.is_ready]
    if ready:
        world.table.go_on(world.chance.one_of(ready))
