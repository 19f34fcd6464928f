"""`autopilot why`: why a ticket is where it is, with every hold, and what would move it on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import acts, console, door, shape
from autopilot.schemas.errors import ExitCode

if TYPE_CHECKING:
    import argparse

    from autopilot.daemon.desk import Desk


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which ticket."""
    parser.add_argument("ticket", metavar="T-N", help="which ticket")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Name the state, its reason, all holds with their cures, and the next step."""
    name = acts.canonical(args.ticket)
    answer = door.ask("GET", f"/v1/tickets/{name}/why", alone=lambda desk: _alone(desk, name))
    if args.json:
        console.say_json(answer)
        return ExitCode.OK
    ticket = answer["ticket"]
    reason = shape.standing(ticket)
    console.say(f"{ticket['id']} is {ticket['state']}" + (f": {reason}" if reason else ""))
    shape.holds(answer["holds"])
    console.say(f"next: {answer['next']}")
    return ExitCode.OK


def _alone(desk: Desk, name: str) -> dict[str, Any]:
    from autopilot.daemon import view

    return view.why(desk, name)
