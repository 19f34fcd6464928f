"""Looks over this machine and its configuration: each line has a verdict, its evidence and the cure.

`autopilot doctor` prints all lines, `autopilot on` refuses to arm when one says NO-GO, and the daemon asks
again, while it is on, those of which a NO-GO is a hold. Must not change anything but what it remembers, or
read a secret's value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.heap import loading
from autopilot.config.load import load
from autopilot.daemon.checkup import side_by_side, who
from autopilot.daemon.checkup.probe import Probe, Purpose, Takes
from autopilot.daemon.checkup.scene import Scene
from autopilot.schemas.checkup import Area, Check
from autopilot.schemas.errors import AutopilotError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths

_ORDER = tuple(Area)


def check_all(
    paths: Paths,
    clock: Clock,
    *,
    purpose: Purpose = Purpose.DOCTOR,
    until_ms: int | None = None,
    is_at_any_hour: bool = False,
    is_fresh: bool = False,
) -> tuple[Check, ...]:
    """Look at everything; a fault of one line never hides the others.

    Args:
        paths: whose machine.
        clock: the time.
        purpose: who asks.
        until_ms: when the switch is to turn off by itself (UTC epoch ms).
        is_at_any_hour: whether the window does not count.
        is_fresh: whether what was found out earlier does not count.
    """
    with loading():
        from autopilot.daemon.checkup import machine_lines  # noqa: PLC0415 - it brings the runner's parts along

    state = side_by_side.look((machine_lines.first(paths),), clock)
    probes, broken = every_probe(
        paths, clock, until_ms=until_ms, is_at_any_hour=is_at_any_hour, is_fresh=is_fresh
    )
    wanted = [probe for probe in probes if purpose in probe.asked_by]
    found = side_by_side.look(wanted, clock)
    if purpose is Purpose.TICK:
        return _asked_in("daemon", found)
    return in_order(_asked_in("terminal", (*state, *broken, *found)))


def every_probe(
    paths: Paths,
    clock: Clock,
    *,
    until_ms: int | None = None,
    is_at_any_hour: bool = False,
    is_fresh: bool = False,
) -> tuple[tuple[Probe, ...], tuple[Check, ...]]:
    """Give every probe but the first, and the lines of a configuration that cannot be used.

    Args:
        paths: whose machine.
        clock: the time.
        until_ms: as for `check_all`.
        is_at_any_hour: as for `check_all`.
        is_fresh: as for `check_all`.
    """
    with loading():
        from autopilot.daemon.checkup import lines, machine_lines  # noqa: PLC0415 - as above

    runner = who.find(paths, clock)
    probes = machine_lines.of_machine(paths, clock, runner)
    try:
        scene = Scene(
            paths=paths,
            clock=clock,
            settings=load(paths),
            runner=runner,
            until_ms=until_ms,
            is_at_any_hour=is_at_any_hour,
            is_fresh=is_fresh,
        )
        return (*probes, *lines.of_configuration(scene)), ()
    except AutopilotError as error:
        about = Probe(name="configuration", takes=Takes.LOOK, area=Area.CONFIGURATION, look=lambda _: ())
        return probes, side_by_side.refused(about, error)


def _asked_in(session: str, lines: Iterable[Check]) -> tuple[Check, ...]:
    return tuple(line.model_copy(update={"asked_in": session}) for line in lines)


def in_order(found: Iterable[Check]) -> tuple[Check, ...]:
    """Show what belongs together side by side; of two lines of one name the graver is enough."""
    kept: dict[str, Check] = {}
    for line in found:
        if line.name not in kept or (line.blocks and not kept[line.name].blocks):
            kept[line.name] = line
    return tuple(sorted(kept.values(), key=lambda line: _ORDER.index(line.area)))
