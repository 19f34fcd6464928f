"""`autopilot resume`: continue a parked ticket where it stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import acts

if TYPE_CHECKING:
    import argparse

    from autopilot.daemon.desk import Desk
    from autopilot.schemas.errors import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which tickets."""
    acts.add_arguments(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Do it for each ticket named."""
    return acts.run(args, "resume", alone=_alone)


def _alone(desk: Desk, ticket: str) -> dict[str, Any]:
    from autopilot.daemon import desk as verbs

    return verbs.resume(desk, ticket)
