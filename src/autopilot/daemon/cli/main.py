"""The command line: finds the verb, runs it, and turns whatever happens into an exit code.

Must not import anything heavy: a verb imports what it needs when it runs.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from autopilot.config.hook import forget_git
from autopilot.config.private import keep_private
from autopilot.daemon.cli import console
from autopilot.daemon.cli.usage import Parser, refuse_empty, unknown
from autopilot.daemon.cli.verbs import VERBS, load
from autopilot.schemas.errors import AutopilotError, ExitCode, TransientError

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence
    from typing import NoReturn, TextIO

_NO_MEMORY = (
    b"autopilot: no memory is left\n  -> end other processes, or raise the limit on memory (ulimit -v)\n"
)
_EPILOG = "Start with `autopilot demo`, then `autopilot init` inside a repository. Exit codes: 0 ok, 1 failed, 2 usage, 3 refused, 70 bug, 75 try later, 78 configuration, 130 interrupted."  # noqa: E501 - argparse wraps it


def build_parser(verbs: Iterable[str] = VERBS, *, named: Iterable[str] = VERBS) -> argparse.ArgumentParser:
    """Build the parser with the arguments of `verbs`; the rest of `named` are known by name only."""
    parser = Parser(
        prog="autopilot",
        description="The unattended night shift: tickets in the evening, draft pull requests in the morning.",
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    parts = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    wanted = frozenset(verbs)
    for name in named:
        summary = VERBS[name]
        part = parts.add_parser(name, help=summary, description=f"{summary}.", allow_abbrev=False)
        if name in wanted:
            load(name).add_arguments(part)
    return parser


def run(argv: Sequence[str]) -> ExitCode:
    """Run one command line to its exit code; nothing escapes but argparse's own exit after `--help`."""
    as_json = "--json" in argv
    try:
        code = _run(argv)
        _flush()
        return code
    except AutopilotError as error:
        return console.refuse(error, as_json=as_json)
    except KeyboardInterrupt:
        console.complain("interrupted; nothing that was queued is lost")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return ExitCode.OK
    except MemoryError:
        pass  # what was under way is let go of first: to say so takes memory too
    except Exception as error:
        from autopilot.daemon.cli import crash

        full = _for_want_of_room(error)
        return (
            console.refuse(full, as_json=as_json) if full else crash.report(error, argv=argv, as_json=as_json)
        )
    return _for_want_of_memory(as_json=as_json)


def _for_want_of_memory(*, as_json: bool) -> ExitCode:
    """Say that the machine has no memory for us; by bytes that are there already, if need be."""
    try:
        from autopilot.config.room import memory_short

        return console.refuse(memory_short(), as_json=as_json)
    except MemoryError:
        os.write(2, _NO_MEMORY)
        return ExitCode.LATER


def _for_want_of_room(error: Exception) -> AutopilotError | None:
    """Tell a full disk from a bug."""
    import traceback

    from autopilot.config.room import is_full

    if not isinstance(error, OSError) or not is_full(error):
        return None
    if any(
        frame.f_code.co_filename == console.__file__ for frame, _ in traceback.walk_tb(error.__traceback__)
    ):
        _drop_output()
        return _output_lost(error)
    where = f" {error.filename}" if error.filename else ""
    what = f"no room left to write{where}: {error.strerror}"
    return TransientError("disk-full", what, hint="free disk space, then repeat the command")


def _output_lost(error: OSError) -> AutopilotError:
    what = f"the output could not be written: {error.strerror}"
    return AutopilotError("output-lost", what, hint="make room where it goes")


def _run(argv: Sequence[str]) -> ExitCode:
    verb = next((word for word in argv if not word.startswith("-")), None)
    if verb is not None and verb not in VERBS:
        raise unknown(verb, VERBS)
    refuse_empty(argv)
    wanted = [verb] if verb else []
    # Each parser costs: beside the one that is asked for, the others matter to the list of them only.
    parser = build_parser(wanted, named=wanted if list(argv[:1]) == wanted and wanted else VERBS)
    args = parser.parse_args(argv)
    if args.version:
        from autopilot.daemon.version import program_version

        console.say(f"autopilot {program_version()}")
        return ExitCode.OK
    if args.verb is None:
        parser.print_help()
        return ExitCode.USAGE
    return load(args.verb).run(args)


def _flush() -> None:
    """Write out what is still held back, while a failure of it can still be told."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as exc:
        _drop_output()
        raise _output_lost(exc) from exc


def _drop_output() -> None:
    """Let the rest of the output go nowhere, so that the interpreter does not complain of it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> NoReturn:
    """Be the `autopilot` command."""
    _finish(sys.argv[1:])


def main_on() -> NoReturn:
    """Be the `autopilot-on` command."""
    _finish(["on", *sys.argv[1:]])


def main_off() -> NoReturn:
    """Be the `autopilot-off` command."""
    _finish(["off", *sys.argv[1:]])


def _finish(argv: Sequence[str]) -> NoReturn:
    keep_private()
    for stream in (sys.stdout, sys.stderr):
        _show_every_character(stream)
    if pointing := forget_git():
        console.complain(f"started from inside of git; {', '.join(pointing)} of its environment is not used")
    try:
        code = run(argv)
    finally:
        _let_complaints_go()
    _end(code)


def _end(code: ExitCode) -> NoReturn:
    """Stop at once where nobody asked for a call at the end: freeing each module takes long."""
    if sys.modules.keys().isdisjoint(("atexit", "threading")):
        with suppress(AutopilotError, BrokenPipeError):
            _flush()
            os._exit(code)
    sys.exit(code)


def _let_complaints_go() -> None:
    """Drop what standard error cannot take, or the interpreter ends with 120 instead of our code."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _show_every_character(stream: TextIO | None) -> None:
    """Write what the terminal's encoding lacks as an escape instead of failing on it."""
    import io

    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
