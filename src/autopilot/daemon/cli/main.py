"""The command line: finds the verb, runs it, and turns whatever happens into an exit code.

Must not import anything heavy: a verb imports what it needs when it runs.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from autopilot.daemon.cli import console
from autopilot.daemon.cli.verbs import VERBS, load
from autopilot.schemas.errors import AutopilotError, ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

_EPILOG = "Start with `autopilot demo`, then `autopilot init` inside a repository. Exit codes: 0 ok, 1 failed, 2 usage, 3 refused, 70 bug, 75 try later, 78 configuration, 130 interrupted."  # noqa: E501 - argparse wraps it


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Build the whole parser, or, when the verb is known already, only that verb's part of it."""
    parser = argparse.ArgumentParser(
        prog="autopilot",
        description="The unattended night shift: tickets in the evening, draft pull requests in the morning.",
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    for name, summary in VERBS.items():
        part = verbs.add_parser(name, help=summary, description=f"{summary}.", allow_abbrev=False)
        if only is None or name == only:
            load(name).add_arguments(part)
    return parser


def run(argv: Sequence[str]) -> ExitCode:
    """Run one command line to its exit code; nothing but KeyboardInterrupt's sibling exits escape."""
    only = next((word for word in argv if word in VERBS), None)
    wants_all = only is None or only == "completion"
    as_json = "--json" in argv
    try:
        args = build_parser(None if wants_all else only).parse_args(argv)
        if args.version:
            console.say(f"autopilot {_version()}")
            return ExitCode.OK
        if args.verb is None:
            build_parser().print_help()
            return ExitCode.USAGE
        return load(args.verb).run(args)
    except AutopilotError as error:
        return console.refuse(error, as_json=as_json)
    except KeyboardInterrupt:
        console.complain("interrupted; nothing that was queued is lost")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except Exception as error:
        from autopilot.daemon.cli import crash

        return crash.report(error, argv=argv, as_json=as_json)


def main() -> NoReturn:
    """Be the `autopilot` command."""
    sys.exit(run(sys.argv[1:]))


def main_on() -> NoReturn:
    """Be the `autopilot-on` command."""
    sys.exit(run(["on", *sys.argv[1:]]))


def main_off() -> NoReturn:
    """Be the `autopilot-off` command."""
    sys.exit(run(["off", *sys.argv[1:]]))


def _version() -> str:
    from importlib import metadata

    return metadata.version("autopilotd")
