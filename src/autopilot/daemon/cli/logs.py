"""`autopilot logs`: what a ticket's run did, from the run's own journal; `--follow` stays until it ends."""

from __future__ import annotations

from threading import Event as Pause
from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import acts, console, door, shape, show
from autopilot.schemas.errors import ExitCode, RefusedError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from pathlib import Path

FOLLOW_S = 0.5
_HIDDEN_FACTS = frozenset({"ts", "event", "run"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the ticket, the run and whether to stay."""
    parser.add_argument("ticket", metavar="T-N", help="which ticket")
    parser.add_argument("--run", metavar="RUN", help="which run; the latest if absent")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the run ends")
    parser.add_argument("--json", action="store_true", help="print the journal's lines as they are")


def run(args: argparse.Namespace) -> ExitCode:
    """Print the journal of the run."""
    name = acts.canonical(args.ticket)
    ticket = fetch(name)["ticket"]
    run_id = args.run or ticket["run_id"]
    if run_id is None:
        raise RefusedError("no-run-yet", f"{name} has not run yet", hint=f"see: autopilot why {name}")
    return _print(_folder(run_id), as_json=args.json, follow=args.follow)


def fetch(name: str) -> dict[str, Any]:
    """Get one ticket whole."""
    return door.ask("GET", f"/v1/tickets/{name}", alone=lambda desk: show.alone(desk, name))


def _folder(run_id: str) -> Path:
    from autopilot.config.paths import find_paths

    folder = find_paths().run_dir(run_id)
    if folder.name != run_id or not folder.is_dir():
        raise RefusedError(
            "run-unknown", f"there is no run {run_id!r} on this machine", hint="see: autopilot show"
        )
    return folder


def _print(folder: Path, *, as_json: bool, follow: bool) -> ExitCode:
    from autopilot.config.journal import read_lines

    offset, started = 0, None
    while True:
        is_over = (folder / "result.json").exists()
        reading = read_lines(folder / "events.jsonl", offset)
        offset = reading.offset
        for entry in reading.entries:
            started = started if started is not None else entry.get("ts")
            console.say_json_line(entry) if as_json else console.say(line(entry, started))
        if is_over or not follow:
            return ExitCode.OK
        Pause().wait(FOLLOW_S)


def line(entry: Mapping[str, Any], started_ms: Any) -> str:  # noqa: ANN401 - a journal may hold anything
    """Show one journal entry: time since the start, event, facts. Tolerates events it does not know."""
    now = entry.get("ts")
    elapsed = shape.since(started_ms, now) if isinstance(now, int) and isinstance(started_ms, int) else "?"
    facts = (_fact(name, value) for name, value in entry.items() if name not in _HIDDEN_FACTS)
    return f"{elapsed:>8}  {entry.get('event', '?')}  {' '.join(facts)}".rstrip()


def _fact(name: str, value: object) -> str:
    if name.endswith("_micro_usd") and isinstance(value, int):
        return f"{name.removesuffix('_micro_usd')}={shape.usd(value)}"
    return f"{name}={value}"
