"""`autopilot on`: check, start the daemon if none runs, and let it launch."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import console, door, shape
from autopilot.daemon.cli.usage import UsageError, seconds
from autopilot.schemas.errors import ConfigError, ExitCode, RefusedError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from autopilot.daemon.desk import Desk
    from autopilot.schemas.checkup import Check


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how long, and whether the window matters."""
    parser.add_argument("--now", action="store_true", help="launch even outside the configured window")
    until = parser.add_mutually_exclusive_group()
    until.add_argument("--until", metavar="07:00", help="turn off by itself at this local time")
    until.add_argument("--for", dest="duration", metavar="8h", help="turn off by itself after this long")
    parser.add_argument(
        "--force",
        action="append",
        default=[],
        metavar="LINE",
        help="arm in spite of this NO-GO line, by its name; repeatable; it is recorded",
    )
    parser.add_argument("--fresh", action="store_true", help="count nothing that was found out earlier")
    parser.add_argument("--dry-run", action="store_true", help="check only; change nothing")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Say GO or NO-GO line by line; on GO, turn the switch on and make sure that a daemon runs."""
    from autopilot.daemon.cli import doctor

    refuse_unreadable(args)
    meant_ms = _night_end_ms(args)
    checks = doctor.checks(is_arming=True, until_ms=meant_ms, is_at_any_hour=args.now, is_fresh=args.fresh)
    forced = overruled(checks, args.force)
    is_go = all(check in forced for check in checks if check.blocks)
    answer: dict[str, Any] = {**doctor.as_json(checks), "go": is_go, "forced": _plain(forced)}
    if not args.json:
        doctor.print_checks(checks)
        _say_verdict(checks, forced, is_go=is_go)
    held: tuple[Check, ...] = ()
    if is_go and not args.dry_run:
        from autopilot.daemon.cli import looked

        stamp = looked.stamp()
        answer |= _turn_on(args, forced, _ends_ms(args, meant_ms))
        if not args.json:
            _tell(answer, is_now=args.now)
        held = looked.held(stamp, answer["started_by"], {check.name for check in forced})
        answer["held"] = _plain(held)
        if held and not args.json:
            console.say("the daemon itself finds, where it runs:")
            doctor.print_checks(held)
            console.say("on, but held: what these lines keep waits until they are mended")
    if args.json:
        console.say_json(answer)
    return ExitCode.OK if is_go and not held else ExitCode.REFUSED


def overruled(checks: Sequence[Check], names: Sequence[str]) -> tuple[Check, ...]:
    """Give the NO-GO lines of these names.

    Raises:
        UsageError: there is no line of a name.
    """
    from autopilot.config.nearest import nearest

    known = [check.name for check in checks]
    for name in names:
        if name not in known:
            hint = nearest(name, known) or f"lines are: {', '.join(known)}"
            raise UsageError("line-unknown", f"--force: no line is called {name!r}", hint=hint)
    return tuple(check for check in checks if check.blocks and check.name in names)


def _say_verdict(checks: Sequence[Check], forced: Sequence[Check], *, is_go: bool) -> None:
    for check in forced:
        console.say(f"forced: {check.name}, on your word")
    if is_go:
        console.say("GO")
        return
    first = next(check.name for check in checks if check.blocks and check not in forced)
    console.say(f"to arm in spite of a line: autopilot on --force {shlex.quote(first)}")
    console.say("NO-GO: mend the lines marked ✗ first")


def _plain(forced: Sequence[Check]) -> list[dict[str, Any]]:
    return [check.model_dump(mode="json") for check in forced]


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


def _turn_on(args: argparse.Namespace, forced: Sequence[Check], ends_ms: int | None) -> dict[str, Any]:
    from autopilot.daemon.cli import starter

    body: dict[str, Any] = {"on": True, "until_ms": ends_ms, "ignore_window": args.now}
    if forced:
        body["forced"] = _plain(forced)
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


def _night_end_ms(args: argparse.Namespace) -> int | None:
    """Give when the switch would turn off by itself; of a configuration that is broken, a line tells."""
    try:
        return _until_ms(args)
    except ConfigError:
        return None


def _ends_ms(args: argparse.Namespace, meant_ms: int | None) -> int | None:
    """Give when the switch turns off by itself: at the time that was meant when it was said.

    Raises:
        RefusedError: `night-over`: that has passed while the machine was looked over.
    """
    from autopilot.config.clock import SystemClock

    if not args.until or meant_ms is None:
        return _until_ms(args)
    if meant_ms <= SystemClock().now_ms():
        what = f"--until {args.until} has passed while the machine was looked over: nothing was turned on"
        raise RefusedError("night-over", what, hint="choose a later time, or a length: --for 8h")
    return meant_ms


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
    from autopilot.schemas.checkup import Check

    return verbs.turn_on(
        desk,
        until_ms=body["until_ms"],
        ignore_window=body["ignore_window"],
        forced=tuple(Check.model_validate(line) for line in body.get("forced", ())),
    )
