"""`autopilot doctor`: look over this machine; exit code 3 when something blocks the night."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import console, shape
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.ids import ticket_id
from autopilot.schemas.units import in_local_time

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from autopilot.schemas.checkup import Check

_SIGNS: Mapping[str, str] = {"go": "✓", "warning": "!", "no-go": "✗"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the form of the answer, and what doctor does beside looking."""
    parser.add_argument(
        "--set-aside", action="store_true", help="give a damaged queue up: move its files away, start empty"
    )
    parser.add_argument(
        "--compact", action="store_true", help="write the queue's file anew without its free room"
    )
    parser.add_argument(
        "--send-test", action="store_true", help="send a line through each channel, and look at nothing else"
    )
    parser.add_argument("--fresh", action="store_true", help="count nothing that was found out earlier")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Print every line with its evidence and cure."""
    if args.set_aside:
        return _set_aside(as_json=args.json)
    if args.compact:
        return _compact(as_json=args.json)
    found = _send_test() if args.send_test else checks(is_fresh=args.fresh)
    if args.json:
        console.say_json(as_json(found))
    else:
        print_checks(found)
    return ExitCode.REFUSED if any(check.blocks for check in found) else ExitCode.OK


def _send_test() -> tuple[Check, ...]:
    from autopilot.config.clock import SystemClock
    from autopilot.config.load import load
    from autopilot.config.paths import find_paths
    from autopilot.daemon.cli.theatre import interruptible
    from autopilot.daemon.delivery.trial import tried

    paths = find_paths()
    with interruptible():
        return tuple(tried(load(paths), paths, SystemClock()))


def _set_aside(*, as_json: bool) -> ExitCode:
    from autopilot.config.clock import SystemClock
    from autopilot.config.paths import find_paths
    from autopilot.daemon.giving_up import give_up_queue

    begun = give_up_queue(find_paths().ensure(), SystemClock())
    carried = begun.carried
    if as_json:
        console.say_json(
            {
                "set_aside": str(begun.set_aside),
                "last_number": begun.last_number,
                "carried": {
                    "runs": list(carried.runs),
                    "micro_usd": carried.micro_usd,
                    "tickets": [ticket_id(number) for number in carried.tickets],
                },
            }
        )
    else:
        console.say(f"the damaged queue is in {begun.set_aside}; a new one is in its place, switched off")
        console.say("worktrees and branches of its tickets are still there")
        if carried.runs:
            spent = shape.usd(carried.micro_usd)
            console.say(f"{len(carried.runs)} runs of it are counted against the ceilings, {spent}")
            console.say("tickets that ran are there again, cancelled: autopilot list")
    return ExitCode.OK


def _compact(*, as_json: bool) -> ExitCode:
    from autopilot.config.clock import SystemClock
    from autopilot.config.paths import find_paths
    from autopilot.daemon.compacting import compact

    before, after = compact(find_paths().ensure(), SystemClock())
    if as_json:
        console.say_json({"before_bytes": before, "after_bytes": after})
    else:
        console.say(f"the queue's file had {before / 1024**2:.1f} MiB and has {after / 1024**2:.1f} MiB now")
    return ExitCode.OK


def checks(
    *,
    is_arming: bool = False,
    until_ms: int | None = None,
    is_at_any_hour: bool = False,
    is_fresh: bool = False,
) -> tuple[Check, ...]:
    """Look at everything there is to look at; who interrupts it leaves nothing behind."""
    from autopilot.config.clock import SystemClock
    from autopilot.config.paths import find_paths
    from autopilot.daemon.checkup.everything import check_all
    from autopilot.daemon.checkup.probe import Purpose
    from autopilot.daemon.cli.theatre import interruptible

    with interruptible():
        return check_all(
            find_paths(),
            SystemClock(),
            purpose=Purpose.ARMING if is_arming else Purpose.DOCTOR,
            until_ms=until_ms,
            is_at_any_hour=is_at_any_hour,
            is_fresh=is_fresh,
        )


def as_json(found: Sequence[Check]) -> dict[str, Any]:
    """Give the lines as plain values: the record `checkup` of the schemas."""
    from autopilot.schemas.checkup import Checkup

    return Checkup.of(found).model_dump(mode="json")


def print_checks(found: Sequence[Check]) -> None:
    """Print the lines, each cure below its line."""
    for check in found:
        first, *rest = in_local_time(check.evidence).splitlines() or [""]
        console.say(f"{_SIGNS[check.verdict]} {check.name}: {first}")
        for more in rest:
            console.say(f"    {more}")
        if check.cure:
            console.say(f"    → {check.cure}")
