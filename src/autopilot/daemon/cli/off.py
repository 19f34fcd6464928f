"""`autopilot off`: launch nothing more. What runs may finish, unless told otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import console, door
from autopilot.daemon.cli.usage import seconds
from autopilot.schemas.errors import ExitCode

if TYPE_CHECKING:
    import argparse

    from autopilot.daemon.desk import Desk


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what becomes of running tickets."""
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--drain", metavar="10m", help="let running tickets finish for this long, then stop them"
    )
    how.add_argument(
        "--now", action="store_true", help="stop running tickets at once; they go back to the queue"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Turn the switch off; it stays off across restarts."""
    body: dict[str, Any] = {"on": False, "mode": "finish"}
    if args.now:
        body["mode"] = "now"
    elif args.drain:
        body.update(mode="drain", drain_s=seconds(args.drain, "--drain"))
    answer = door.ask("POST", "/v1/switch", body, alone=lambda desk: _alone(desk, body))
    if args.json:
        console.say_json(answer)
    else:
        console.say("off: nothing more is launched" + ("" if args.now else "; what runs may finish"))
    return ExitCode.OK


def _alone(desk: Desk, body: dict[str, Any]) -> dict[str, Any]:
    from autopilot.daemon import desk as verbs

    return verbs.turn_off(desk, mode=body["mode"], drain_s=body.get("drain_s"))
