"""`autopilot stop --all`: in an emergency, kill everything of ours and say what was killed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from autopilot.daemon.cli import console
from autopilot.daemon.cli.usage import UsageError
from autopilot.schemas.errors import AutopilotError, ExitCode

if TYPE_CHECKING:
    import argparse

    from autopilot.config.clock import Clock


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare that it is meant."""
    parser.add_argument(
        "--all", action="store_true", help="kill the daemon, every run and every publication of this queue"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Kill, keep the service from starting it anew, and turn the switch off.

    Raises:
        UsageError: not all is meant.
    """
    if not args.all:
        hint = "runs: autopilot off --now; the daemon: autopilot daemon stop; both, killed: stop --all"
        raise UsageError("stop-what", "say what is to be stopped", hint=hint)
    from autopilot.config.clock import SystemClock
    from autopilot.config.paths import find_paths
    from autopilot.daemon.emergency import stop_all

    clock, paths = SystemClock(), find_paths()
    killed = stop_all(paths, clock)
    troubles = [trouble for trouble in (_halt(clock), _turn_off()) if trouble]
    if args.json:
        console.say_json({"killed": [asdict(each) for each in killed], "troubles": troubles})
    else:
        for each in killed:
            console.say(f"killed {each.name}: {each.processes} process{'es' if each.processes > 1 else ''}")
        console.say("nothing of ours ran" if not killed else "what ran is judged when a daemon next starts")
        for trouble in troubles:
            console.say(f"! {console.line(trouble)}")
        if not troubles:
            console.say("off: nothing is launched before autopilot on")
    return ExitCode.FAILED if troubles else ExitCode.OK


def _with_hint(error: AutopilotError) -> str:
    return f"{error.what} → {error.hint}" if error.hint else error.what


def _halt(clock: Clock) -> str:
    """Have the service, where there is one, start nothing anew; say what went wrong."""
    from autopilot.daemon import keeping

    init = keeping.installed(clock)
    try:
        if init is not None:
            init.halt()
    except AutopilotError as error:
        return f"the service may start again: {_with_hint(error)}"
    return ""


def _turn_off() -> str:
    from autopilot.daemon import desk as verbs
    from autopilot.daemon.cli import door

    try:
        with door.open_desk() as desk:
            verbs.turn_off(desk, mode="now")
    except AutopilotError as error:
        return f"the switch could not be turned off: {_with_hint(error)}"
    return ""
