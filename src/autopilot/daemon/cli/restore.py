"""`autopilot restore`: put a backup in the place of the queue; the present one is moved aside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.daemon.cli import backup, console, shape
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.ids import ticket_id
from autopilot.schemas.units import iso_utc

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from autopilot.daemon.store.present import Newer
    from autopilot.daemon.store.restore import Restored
    from autopilot.daemon.store.traces import Carried

_SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which copy and the form."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="the copy; by default the newest good backup")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Check the copy, move the present queue aside, put the copy in place, and say what that changed."""
    from autopilot.config.clock import SystemClock
    from autopilot.config.paths import find_paths
    from autopilot.daemon.restoring import restore_queue

    source = Path(args.file).expanduser().absolute() if args.file else None
    restored = restore_queue(find_paths().ensure(), SystemClock(), source=source)
    if args.json:
        console.say_json(
            {
                "backup": backup.as_fields(restored.copy),
                "set_aside": None if restored.set_aside is None else str(restored.set_aside),
                "newer": {
                    "added": list(restored.newer.added),
                    "moved": list(restored.newer.moved),
                    "fault": restored.newer.fault,
                },
                "carried": {
                    "runs": list(restored.carried.runs),
                    "micro_usd": restored.carried.micro_usd,
                    "tickets": [ticket_id(number) for number in restored.carried.tickets],
                },
            }
        )
    else:
        _tell(restored)
    return ExitCode.OK


def _tell(restored: Restored) -> None:
    copy = restored.copy
    console.say(f"restored {copy.path}: {copy.tickets} tickets as of {iso_utc(copy.taken_ms)}")
    if restored.set_aside is not None:
        console.say(f"what was there is in {restored.set_aside}")
        for line in _difference(restored.newer):
            console.say(f"  {line}")
    for line in _carried(restored.carried):
        console.say(line)
    console.say("nothing starts by itself: look with autopilot list, then autopilot on")


def _difference(newer: Newer) -> list[str]:
    if newer.fault:
        return [f"what it had that the backup lacks cannot be read: {newer.fault}"]
    if not newer.added and not newer.moved:
        return ["it held no ticket that the backup lacks"]
    return [
        f"{len(names)} tickets {what} after the backup: {_shown(names)}"
        for what, names in (("were added", newer.added), ("moved", newer.moved))
        if names
    ]


def _carried(carried: Carried) -> list[str]:
    """Say what the queue was told of runs that it did not know."""
    if not carried.runs:
        return []
    spent = shape.usd(carried.micro_usd)
    lines = [f"{len(carried.runs)} runs of the time since are counted against the ceilings, {spent}"]
    if carried.tickets:
        names = _shown([ticket_id(number) for number in carried.tickets])
        lines.append(f"tickets that ran and were not in the backup are there again, cancelled: {names}")
    return lines


def _shown(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
