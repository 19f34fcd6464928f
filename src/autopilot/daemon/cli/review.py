"""`autopilot review`: the open drafts, or one with its verification and diff."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import acts, console, door, shape
from autopilot.schemas.errors import ExitCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which draft."""
    parser.add_argument("ticket", nargs="?", metavar="T-N", help="which one; absent: list them")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """List the drafts, or show one whole."""
    from autopilot.daemon import review

    with door.open_desk() as desk:
        answer = review.one(desk, acts.canonical(args.ticket)) if args.ticket else review.drafts(desk)
    if args.json:
        console.say_json(answer)
    elif args.ticket:
        _one(answer)
    else:
        _list(answer)
    return ExitCode.OK


def _list(answer: Mapping[str, Any]) -> None:
    rows = answer["drafts"]
    if not rows:
        console.say("no drafts wait for review")
        return
    console.table(
        [
            (
                row["ticket"]["id"],
                row["ticket"]["repo"],
                row["ticket"]["title"],
                row["publication"]["pr_url"] or row["publication"]["branch"],
            )
            for row in rows
        ],
        header=("ticket", "repo", "title", "draft"),
    )
    console.say(f"one whole: autopilot review {rows[0]['ticket']['id']}")


def _one(answer: Mapping[str, Any]) -> None:
    ticket, publication = answer["ticket"], answer["publication"]
    console.say(f"{ticket['id']}  {ticket['title']}")
    console.say(f"  draft {publication['pr_url'] or '(open it yourself)'}")
    console.say(f"  branch {publication['branch']} at {publication['head'][:12]}, into {publication['base']}")
    console.say(f"  cost {shape.usd(ticket['spent_micro_usd'])} in {ticket['sessions']} sessions")
    for gate in answer["gates"]:
        console.say(f"  gate {gate['gate']} {gate['verdict']} by {gate['producer']}: {gate['reason']}")
    console.say()
    console.diff(answer["diff"])
