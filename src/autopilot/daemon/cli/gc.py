"""`autopilot gc`: what could be cleaned up, and with `--apply` cleaning it up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.daemon.cli import console, door
from autopilot.schemas.errors import ExitCode

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare whether anything is removed."""
    parser.add_argument("--apply", action="store_true", help="remove what may go; work is saved first")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Look, remove where that was asked for, and say where the report is."""
    from autopilot.config.paths import demo_home
    from autopilot.daemon.gc import report
    from autopilot.daemon.gc.sweep import sweep

    with door.open_desk() as desk:
        told, file = sweep(desk, apply=args.apply, demo=demo_home())
    if args.json:
        console.say_json(report.as_json(told))
    else:
        console.markdown(report.markdown(told))
        console.say(f"\n{'Removed' if args.apply else 'May go'}: {report.summary(told)}")
        console.say(f"Report: {file}")
    return ExitCode.FAILED if told.failed else ExitCode.OK
