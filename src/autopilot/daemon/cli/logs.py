"""`autopilot logs`: what a ticket's run did, from the run's own journal; `--follow` stays until it ends."""

from __future__ import annotations

from threading import Event as Pause
from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import console, door, shape, show
from autopilot.daemon.cli.journal import Reader
from autopilot.schemas.errors import ExitCode, RefusedError
from autopilot.schemas.ids import canonical

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping
    from pathlib import Path

FOLLOW_S = 0.5
LOOK_EVERY = 10
"""Reads of the journal between two looks at the ticket: a runner that was killed writes no result."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the ticket, the run and whether to stay."""
    parser.add_argument("ticket", metavar="T-N", help="which ticket")
    parser.add_argument("--run", metavar="RUN", help="which run; the latest if absent")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the run ends")
    parser.add_argument("--json", action="store_true", help="print the journal's lines as they are")


def run(args: argparse.Namespace) -> ExitCode:
    """Print the journal of the run."""
    name = canonical(args.ticket)
    run_id = chosen(fetch(name), args.run) or (_awaited(name) if args.follow else None)
    if run_id is None:
        raise RefusedError("no-run-yet", f"{name} has not run yet", hint=f"see: autopilot why {name}")
    reader = Reader(_folder(name, run_id), as_json=args.json)
    reader.print_new()
    if args.follow:
        _follow(reader, name, run_id)
        if not args.json:
            console.say(_ended(fetch(name)["ticket"]))
    return ExitCode.OK


def fetch(name: str) -> dict[str, Any]:
    """Get one ticket whole."""
    return door.ask("GET", f"/v1/tickets/{name}", alone=lambda desk: show.alone(desk, name))


def chosen(shown: Mapping[str, Any], wanted: str | None) -> str | None:
    """Choose the run: the wanted one of this ticket, else its latest; None when it has none.

    Raises:
        RefusedError: the wanted run is not one of this ticket.
    """
    runs = [attempt["run_id"] for attempt in shown["attempts"]]
    if wanted is None:
        return runs[-1] if runs else None
    if wanted not in runs:
        what = f"{shown['ticket']['id']} has no run {wanted!r}"
        raise RefusedError("run-unknown", what, hint=f"its runs: {', '.join(runs) or 'none yet'}")
    return wanted


def _awaited(name: str) -> str:
    """Wait until the ticket runs."""
    console.complain(f"{name} has not run yet; waiting (autopilot why {name} says for what)")
    pause = Pause()
    while (run_id := chosen(fetch(name), None)) is None:
        pause.wait(FOLLOW_S)
    return run_id


def _folder(name: str, run_id: str) -> Path:
    from autopilot.config.paths import EVENTS_FILE, find_paths, read_folder

    folder = read_folder(find_paths(), name, run_id, EVENTS_FILE)
    if not folder.is_dir():
        what = f"the folder of {run_id} is not on this machine any more, nor a copy of it"
        raise RefusedError("run-gone", what, hint="autopilot show tells how it ended")
    return folder


def _follow(reader: Reader, name: str, run_id: str) -> None:
    """Print what is new until the run has left its result, or is not under way any more."""
    pause, reads = Pause(), 0
    with console.progress() as show_progress:
        while not reader.is_over and (reads % LOOK_EVERY or _is_running(name, run_id)):
            _tell(reader, name, show_progress)
            pause.wait(FOLLOW_S)
            reader.print_new()
            reads += 1
    reader.print_new()


def _tell(reader: Reader, name: str, show_progress: Callable[[str], None]) -> None:
    from autopilot.config.clock import SystemClock

    show_progress(f"{name} runs for {reader.elapsed(SystemClock().now_ms())}, {shape.usd(reader.spent)}")


def _is_running(name: str, run_id: str) -> bool:
    return any(each["run_id"] == run_id and each["state"] == "running" for each in fetch(name)["attempts"])


def _ended(ticket: Mapping[str, Any]) -> str:
    told = shape.standing(ticket)
    return f"{ticket['id']} is {ticket['state']}" + (f": {told}" if told else "")
