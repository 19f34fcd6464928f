"""`autopilot list`: the queue, and what became of what left it."""

from __future__ import annotations

from urllib.parse import urlencode

from autopilot.daemon.cli import console, door, shape
from autopilot.daemon.cli.usage import count
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.machine import FINAL_STATES, State

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from autopilot.daemon.desk import Desk

MOST_LINES = 1000
"""Without `--limit`, for a person: more run past, and a long queue would be read whole for it."""
OPEN_STATES = tuple(state.value for state in State if state not in FINAL_STATES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the filters."""
    parser.add_argument(
        "--state", action="append", choices=[state.value for state in State], help="only these"
    )
    parser.add_argument("--open", action="store_true", help="only what is not finished")
    parser.add_argument("--repo", help="only this repository")
    parser.add_argument(
        "--limit", type=count, metavar="N", help="only the newest N; 1000 by default, all with --json"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Print one line per ticket."""
    states = tuple(args.state or (OPEN_STATES if args.open else ()))
    limit = args.limit or (None if args.json else MOST_LINES + 1)
    asked = {"state": ",".join(states), "repo": args.repo, "limit": limit}
    query = urlencode({name: value for name, value in asked.items() if value})
    answer = door.ask(
        "GET",
        f"/v1/tickets?{query}",
        alone=lambda desk: _alone(desk, states=states, repo=args.repo, limit=limit),
    )
    if args.json:
        console.say_json(answer)
    elif answer["tickets"]:
        _print(answer["tickets"], is_whole=args.limit is not None)
    else:
        console.say('no tickets; queue one with: autopilot add "what to do"')
    return ExitCode.OK


def _print(tickets: list[dict[str, Any]], *, is_whole: bool) -> None:
    shown = tickets if is_whole else tickets[-MOST_LINES:]
    shape.tickets(shown)
    if len(shown) < len(tickets):
        console.say(f"these are the newest {MOST_LINES}; more: --limit N, or fewer: --open, --state, --repo")


def _alone(desk: Desk, *, states: tuple[str, ...], repo: str | None, limit: int | None) -> dict[str, Any]:
    from autopilot.daemon import desk as verbs

    return verbs.tickets(desk, states=states, repo=repo, limit=limit)
