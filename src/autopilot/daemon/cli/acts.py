"""What cancel, retry and resume share: the same act on each ticket named, none hiding another's refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import console, door
from autopilot.schemas.errors import AutopilotError, ExitCode
from autopilot.schemas.ids import canonical

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from autopilot.daemon.desk import Desk


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the tickets and the form of the answer."""
    parser.add_argument("tickets", nargs="+", metavar="T-N", help="which tickets")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, act: str, *, alone: Callable[[Desk, str], dict[str, Any]]) -> ExitCode:
    """Do `act` for each ticket; the exit code is that of the last refusal, if there was one."""
    done: list[dict[str, Any]] = []
    refused: list[dict[str, str]] = []
    code = ExitCode.OK
    for word in args.tickets:
        try:
            done.append(_one(word, act, alone=alone)["ticket"])
        except AutopilotError as error:
            code = error.exit_code
            refused.append({"ticket": word, **console.as_fields(error)})
            if not args.json:
                console.refuse(error, as_json=False)
        else:
            if not args.json:
                console.say(_told(done[-1]))
    if args.json:
        console.say_json({"tickets": done, "refused": refused})
    return code


def _one(word: str, act: str, *, alone: Callable[[Desk, str], dict[str, Any]]) -> dict[str, Any]:
    name = canonical(word)
    return door.ask("POST", f"/v1/tickets/{name}/{act}", {}, alone=lambda desk: alone(desk, name))


def _told(ticket: dict[str, Any]) -> str:
    if ticket["cancel_requested"] and ticket["state"] in {"running", "publishing"}:
        return f"{ticket['id']} is {ticket['state']}; it will be stopped"
    return f"{ticket['id']} is {ticket['state']}"
