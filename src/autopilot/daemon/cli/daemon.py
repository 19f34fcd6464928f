"""`autopilot daemon run|stop`: be the daemon in the foreground, or stop the one that runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.paths import find_paths
from autopilot.daemon.cli import console
from autopilot.schemas.errors import ExitCode

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the two acts."""
    parser.add_argument(
        "act", choices=["run", "stop"], help="run in the foreground, or stop the one that runs"
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Run until told to stop (SIGTERM drains, a second one stops at once), or stop the one that runs."""
    from autopilot.daemon.cli import starter

    if args.act == "stop":
        console.say("stopped" if starter.stop_daemon(find_paths()) else "no daemon runs")
        return ExitCode.OK
    from autopilot.config.clock import SystemClock
    from autopilot.config.load import load
    from autopilot.daemon import starts
    from autopilot.daemon.app import run_daemon

    paths, clock = find_paths(), SystemClock()
    with starts.counted(paths, clock):
        return run_daemon(paths, load(paths), clock, reload=lambda: load(paths))
