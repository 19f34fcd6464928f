"""`autopilot answer`: answer what a parked ticket asked, and continue it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import console, door, given
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.ids import canonical

if TYPE_CHECKING:
    import argparse

    from autopilot.daemon.desk import Desk


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the ticket and one answer per open question."""
    parser.add_argument("ticket", metavar="T-N", help="which ticket")
    parser.add_argument(
        "answers", nargs="+", metavar="TEXT", help="one per open question, in order; `-` reads stdin"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Hand the answers over and say where the ticket is now."""
    name = canonical(args.ticket)
    words = [given.stdin().strip()] if args.answers == [given.STDIN] else list(args.answers)
    answer = door.ask(
        "POST", f"/v1/tickets/{name}/answer", {"answers": words}, alone=lambda desk: _alone(desk, name, words)
    )
    if args.json:
        console.say_json(answer)
    else:
        console.say(f"{name} is {answer['ticket']['state']}")
    return ExitCode.OK


def _alone(desk: Desk, name: str, words: list[str]) -> dict[str, Any]:
    from autopilot.daemon import desk as verbs

    return verbs.answer(desk, name, words)
