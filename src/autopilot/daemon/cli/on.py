"""`autopilot on`: check, start the daemon if none runs, and let it launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import console, door
from autopilot.daemon.cli.off import seconds
from autopilot.schemas.errors import ExitCode

if TYPE_CHECKING:
    import argparse

    from autopilot.daemon.desk import Desk


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how long, and whether the window matters."""
    parser.add_argument("--now", action="store_true", help="launch even outside the configured window")
    until = parser.add_mutually_exclusive_group()
    until.add_argument("--until", metavar="07:00", help="turn off by itself at this local time")
    until.add_argument("--for", dest="duration", metavar="8h", help="turn off by itself after this long")
    parser.add_argument("--dry-run", action="store_true", help="check only; change nothing")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Say GO or NO-GO line by line; on GO, turn the switch on and make sure that a daemon runs."""
    from autopilot.daemon.cli import doctor, starter

    until_ms = _until_ms(args)
    checks = doctor.checks()
    is_go = not any(check.blocks for check in checks)
    if not args.json:
        doctor.print_checks(checks)
        console.say("GO" if is_go else "NO-GO: mend the lines marked ✗ first")
    if args.dry_run or not is_go:
        if args.json:
            console.say_json({"go": is_go, "checks": doctor.as_json(checks)})
        return ExitCode.OK if is_go else ExitCode.REFUSED
    started = starter.ensure_daemon()
    body = {"on": True, "until_ms": until_ms, "ignore_window": args.now}
    answer = door.ask("POST", "/v1/switch", body, alone=lambda desk: _alone(desk, body))
    if args.json:
        console.say_json({"go": True, "checks": doctor.as_json(checks), "started_daemon": started, **answer})
    else:
        console.say("on: tickets are launched" + (" from now on" if args.now else " inside the window"))
        console.say("in the morning: autopilot digest")
    return ExitCode.OK


def _until_ms(args: argparse.Namespace) -> int | None:
    from autopilot.config.clock import SystemClock

    now_ms = SystemClock().now_ms()
    if args.duration:
        return now_ms + round(seconds(args.duration, "--for") * 1000)
    if not args.until:
        return None
    from zoneinfo import ZoneInfo

    from autopilot.config.load import load
    from autopilot.config.paths import find_paths
    from autopilot.daemon import windows

    zone = load(find_paths()).schedule.timezone
    return windows.next_due_ms(args.until, ZoneInfo(zone) if zone else None, now_ms)


def _alone(desk: Desk, body: dict[str, Any]) -> dict[str, Any]:
    from autopilot.daemon import desk as verbs

    return verbs.turn_on(desk, until_ms=body["until_ms"], ignore_window=body["ignore_window"])
