"""`autopilot completion`: print a completion script for a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.daemon.cli import console
from autopilot.schemas.errors import ExitCode

if TYPE_CHECKING:
    import argparse

SHELLS = ("bash", "zsh", "tcsh")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the shell."""
    parser.add_argument("shell", choices=SHELLS, help='e.g. eval "$(autopilot completion bash)"')


def run(args: argparse.Namespace) -> ExitCode:
    """Print the script; it is made from the parser, so it never lags behind."""
    import shtab

    from autopilot.daemon.cli.main import build_parser

    console.say_raw(shtab.complete(build_parser(), shell=args.shell))
    return ExitCode.OK
