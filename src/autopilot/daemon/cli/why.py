"""`autopilot why`: why a ticket is where it is, with every hold, and what would move it on."""

from __future__ import annotations

from autopilot.daemon.cli import console, door, shape
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.ids import canonical
from autopilot.schemas.machine import MOVING_STATES

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping
    from typing import Any

    from autopilot.daemon.desk import Desk


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which ticket."""
    parser.add_argument("ticket", metavar="T-N", help="which ticket")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Name the state, its reason, all holds with their cures, and the next step."""
    name = canonical(args.ticket)
    answer = door.ask("GET", f"/v1/tickets/{name}/why", alone=lambda desk: _alone(desk, name))
    if args.json:
        console.say_json(answer)
    else:
        needs_daemon = answer["ticket"]["state"] in MOVING_STATES
        console.say("\n".join(lines(answer, daemon=door.health() if needs_daemon else None)))
    return ExitCode.OK


def lines(answer: Mapping[str, Any], *, daemon: Mapping[str, Any] | None) -> Iterator[str]:
    """Give the answer as lines of text; `daemon` is the health of the one that runs."""
    ticket = answer["ticket"]
    reason = console.line(shape.standing(ticket))
    yield f"{ticket['id']} is {ticket['state']}" + (f": {reason}" if reason else "")
    if ticket["state"] in MOVING_STATES and daemon is None:
        yield "  no daemon is running, so nothing moves"
        yield "      → autopilot on"
    elif ticket["state"] in MOVING_STATES and (trouble := shape.trouble_of(daemon)):
        yield "  a daemon is running, and nothing moves"
        yield from shape.trouble(trouble, indent=6)
    if answer["holds"]:
        yield "held by"
        yield from shape.holds(answer["holds"])
    yield from shape.saved_work(answer["saved_work"])
    yield f"next: {console.line(answer['next'])}"
    command = shape.command(ticket)
    if command is not None and command.partition(' "')[0] not in answer["next"]:
        yield f"      → {command}"


def _alone(desk: Desk, name: str) -> dict[str, Any]:
    from autopilot.daemon import view

    return view.why(desk, name)
