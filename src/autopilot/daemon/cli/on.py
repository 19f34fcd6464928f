"""`autopilot on`: check, start the daemon if none runs, and let it launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import console, door, shape
from autopilot.daemon.cli.usage import UsageError, seconds
from autopilot.schemas.errors import ConfigError, ExitCode

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
    from autopilot.daemon.cli import doctor

    refuse_unreadable(args)
    checks = doctor.checks()
    is_go = not any(check.blocks for check in checks)
    answer: dict[str, Any] = {"go": is_go, "checks": doctor.as_json(checks)}
    if not args.json:
        doctor.print_checks(checks)
        console.say("GO" if is_go else "NO-GO: mend the lines marked ✗ first")
    if is_go and not args.dry_run:
        answer |= _turn_on(args)
        if not args.json:
            _tell(answer, is_now=args.now)
    if args.json:
        console.say_json(answer)
    return ExitCode.OK if is_go else ExitCode.REFUSED


def refuse_unreadable(args: argparse.Namespace) -> None:
    """Refuse a time that is none before anything is looked at.

    Raises:
        UsageError: `--until` or `--for` cannot be read.
    """
    from autopilot.daemon.windows import parse_clock

    if args.duration is not None and seconds(args.duration, "--for") <= 0:
        raise UsageError("bad-duration", "--for: the night would be over at once", hint="e.g. --for 8h")
    if args.until is not None:
        try:
            parse_clock(args.until)
        except ConfigError as exc:
            raise UsageError("bad-time", f"--until: {exc.what}", hint="e.g. --until 07:00") from exc


def _turn_on(args: argparse.Namespace) -> dict[str, Any]:
    from autopilot.daemon.cli import starter

    body = {"on": True, "until_ms": _until_ms(args), "ignore_window": args.now}
    started = starter.ensure_daemon()
    answer = door.ask("POST", "/v1/switch", body, alone=lambda desk: _alone(desk, body))
    return {**answer, "started_daemon": bool(started), "started_by": started}


def _tell(answer: dict[str, Any], *, is_now: bool) -> None:
    switch = answer["switch"]
    if answer["started_by"] == "terminal":
        console.say("a daemon was started; it runs until `autopilot daemon stop`, a log-out or a reboot")
        console.say("as a service it would come back by itself: autopilot install")
    elif answer["started_by"]:
        console.say(f"the service was started by {answer['started_by']}")
    until = f" until {shape.when(switch['until_ms'])}" if switch["until_ms"] else ""
    console.say(f"on: tickets are launched{' from now on' if is_now else ' inside the window'}{until}")
    console.say("in the morning: autopilot digest")


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
