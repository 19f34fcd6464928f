"""`autopilot budget show`: ceilings, spend of the last 24 hours, reservations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.daemon.cli import console, shape, status
from autopilot.schemas.errors import ExitCode

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the one thing there is to do."""
    parser.add_argument("act", nargs="?", choices=["show"], default="show", help="show (the default)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Print the money part of the status."""
    view = status.fetch()
    money = view["money"]
    running = [
        {
            "ticket": row["ticket"]["id"],
            "spent_micro_usd": row["spent_micro_usd"],
            "reserved_micro_usd": row["reserved_micro_usd"],
        }
        for row in view["running"]
    ]
    if args.json:
        console.say_json({"money": money, "running": running})
        return ExitCode.OK
    console.say(f"ceiling      {shape.usd(money['ceiling_micro_usd'])} in any 24 hours")
    console.say(f"spent        {shape.usd(money['settled_micro_usd'])}")
    console.say(f"reserved     {shape.usd(money['reserved_micro_usd'])} by {len(running)} running")
    if money["unknown_runs"]:
        console.say(f"unknown      {money['unknown_runs']} runs did not tell; counted at their reservation")
    for row in running:
        spent, reserved = shape.usd(row["spent_micro_usd"]), shape.usd(row["reserved_micro_usd"])
        console.say(f"  {row['ticket']}  {spent} of {reserved}")
    return ExitCode.OK
