"""`autopilot review`: the open drafts, or one with its text, its verification and its diff."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.daemon.cli import console, door, shape
from autopilot.daemon.cli.usage import UsageError
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.ids import canonical

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping
    from typing import Literal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which draft."""
    parser.add_argument("ticket", nargs="?", metavar="T-N", help="which one; absent: list them")
    fate = parser.add_mutually_exclusive_group()
    for word in ("merged", "closed"):
        told = f"say that you {word} it, where the forge does not show it"
        fate.add_argument(f"--{word}", dest="fate", action="store_const", const=word, help=told)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """List the drafts, show one whole, or write down what became of it."""
    from autopilot.daemon import review

    name = canonical(args.ticket) if args.ticket else None
    if args.fate:
        return _settle(name, args.fate, as_json=args.json)
    with door.open_desk() as desk:
        answer = review.one(desk, name) if name else review.drafts(desk)
    if args.json:
        console.say_json(answer)
    elif name:
        _one(answer)
    else:
        _list(answer["drafts"])
    return ExitCode.OK


def _list(rows: list[Mapping[str, Any]]) -> None:
    if not rows:
        console.say("no drafts wait for review")
        return
    cells = [
        (row["ticket"]["id"], row["ticket"]["repo"], row["ticket"]["title"], _where(row["publication"]))
        for row in rows
    ]
    console.table(cells, header=("ticket", "repo", "title", "draft"))
    console.say(f"one whole: autopilot review {rows[0]['ticket']['id']}")


def _one(answer: Mapping[str, Any]) -> None:
    console.say("\n".join(_head(answer)))
    if answer["body"]:
        console.say()
        console.markdown(answer["body"])
    console.say()
    if answer["diff"]:
        console.diff(answer["diff"])
    else:
        console.say("(the run's repository is not on this machine any more: see the diff on the forge)")


def _head(answer: Mapping[str, Any]) -> Iterator[str]:
    ticket, publication = answer["ticket"], answer["publication"]
    yield f"{ticket['id']}  {console.line(ticket['title'])}"
    fate = publication["pr_state"]
    yield f"  draft   {_where(publication)}{f' ({fate})' if fate in {'merged', 'closed'} else ''}"
    yield f"  branch  {publication['branch']} at {publication['head'][:12]}, into {publication['base']}"
    yield f"  cost    {shape.usd(ticket['spent_micro_usd'])} in {ticket['sessions']} runs"
    for gate in answer["gates"]:
        told = f"{gate['gate']} {gate['verdict']} by {gate['producer']}: {gate['reason']}"
        yield f"  gate    {console.line(told)}"
    if answer["fetch"]:
        yield f"  try it  {answer['fetch']}"


def _where(publication: Mapping[str, Any]) -> str:
    if publication["pr_url"]:
        return str(publication["pr_url"])
    if publication["state"] == "done":
        return f"{publication['branch']} is pushed; open the pull request yourself"
    told = console.line(publication["message"] or "")
    return f"not published yet ({publication['state']}{': ' + told if told else ''})"


def _settle(name: str | None, fate: Literal["merged", "closed"], *, as_json: bool) -> ExitCode:
    from autopilot.daemon import settling
    from autopilot.daemon.api import client

    if name is None:
        raise UsageError("usage", f"--{fate}: which ticket?", hint=f"e.g. autopilot review T-1 --{fate}")
    with door.open_desk() as desk:
        answer = settling.settle(desk, name, fate)
        client.nudge(desk.paths.control_socket)
    if as_json:
        console.say_json(answer)
    else:
        publication = answer["publication"]
        console.say(f"{name} counts as {fate}: {publication['pr_url'] or publication['branch']}")
    return ExitCode.OK
