"""`autopilot why`: why a ticket is where it is, with every hold, and what would move it on."""

from __future__ import annotations

from autopilot.daemon.cli import console, door, shape
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.ids import canonical

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping
    from typing import Any

    from autopilot.daemon.desk import Desk

_NEEDS_A_DAEMON = frozenset({"queued", "running", "committed", "publishing"})


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
        needs_daemon = answer["ticket"]["state"] in _NEEDS_A_DAEMON
        console.say("\n".join(lines(answer, lacks_daemon=needs_daemon and not door.is_daemon_up())))
    return ExitCode.OK


def lines(answer: Mapping[str, Any], *, lacks_daemon: bool) -> Iterator[str]:
    """Give the answer as lines of text."""
    ticket = answer["ticket"]
    reason = console.line(shape.standing(ticket))
    yield f"{ticket['id']} is {ticket['state']}" + (f": {reason}" if reason else "")
    if lacks_daemon:
        yield "  no daemon is running, so nothing moves"
        yield "      → autopilot on"
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
