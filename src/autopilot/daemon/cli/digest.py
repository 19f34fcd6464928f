"""`autopilot digest`: what the night did, what waits on you first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.daemon.cli import console, door, shape
from autopilot.daemon.cli.usage import seconds
from autopilot.schemas.errors import AutopilotError, ExitCode

if TYPE_CHECKING:
    import argparse

    from autopilot.daemon.trouble import Trouble


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how far back and the form."""
    parser.add_argument("--since", metavar="12h", default="24h", help="how far back to look (default 24h)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Print the digest of now; the scheduled ones lie in the state folder as files."""
    from autopilot.daemon.digest import gather, render

    with door.open_desk() as desk:
        since_ms = desk.clock.now_ms() - round(seconds(args.since, "--since") * 1000)
        trouble, is_served = _daemon(desk.clock.now_ms())
        night = gather.night(desk, since_ms=since_ms, trouble=trouble, is_served=is_served)
    if args.json:
        console.say_json(render.as_json(night))
    else:
        console.markdown(render.markdown(night))
    return ExitCode.OK


def _daemon(now_ms: int) -> tuple[Trouble | None, bool]:
    """Ask the daemon what its ticks fail at, that it does not answer is no less; and whether there is one."""
    from autopilot.daemon.trouble import Trouble

    try:
        health = door.health()
    except AutopilotError as error:
        return Trouble(now_ms, 1, error.what, error.hint), True
    found = shape.trouble_of(health)
    return None if found is None else Trouble(**found), health is not None
