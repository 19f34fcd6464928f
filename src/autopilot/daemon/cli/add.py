"""`autopilot add`: queue a ticket from an issue, quoted text, a file with front matter, or standard input."""

from __future__ import annotations

from pathlib import Path

from autopilot.daemon.api import client
from autopilot.daemon.cli import console, door, given, shape, words
from autopilot.schemas.errors import ExitCode, TicketError
from autopilot.schemas.ids import is_reference
from autopilot.schemas.units import parse_iso_ms

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from autopilot.daemon.desk import Desk

_ISSUE_S = 45.0
"""Longer than the daemon lets a tracker take."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the ticket's fields; what the command line says wins over the file."""
    parser.add_argument(
        "text",
        nargs="*",
        help="an issue ('#12', repo#12, PROJ-7 or its page), or in quotes what to do: the first line is the "
        "title; `-` reads stdin",
    )
    parser.add_argument("--file", type=Path, metavar="TICKET.md", help="read the ticket from a Markdown file")
    parser.add_argument("--title", help="title, when the text is only the body")
    parser.add_argument("--repo", help="configured repository; not needed when there is only one")
    parser.add_argument("--base", help="branch to start from")
    parser.add_argument("--priority", help="urgent, high, normal, low or 0 to 3")
    parser.add_argument(
        "--depends-on", action="append", metavar="T-N", help="run after this one is published"
    )
    parser.add_argument("--not-before", metavar="TIME", help="RFC 3339 time with offset")
    parser.add_argument("--agent", help="which configured agent works on it")
    parser.add_argument(
        "--acceptance", action="append", metavar="LINE", help="one line that must hold at the end"
    )
    parser.add_argument("--source-key", help="the same key twice is one ticket, e.g. owner/name#12")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Queue it and say its number."""
    text = read_text(args)
    is_issue = is_reference(text.strip())
    fields = _of_issue(args, text.strip()) if is_issue else fields_of(args, text)
    patience_s = _ISSUE_S if is_issue else client.TIMEOUT_S
    answer = door.ask(
        "POST", "/v1/tickets", fields, alone=lambda desk: _alone(desk, fields), timeout_s=patience_s
    )
    if args.json:
        console.say_json(answer)
        return ExitCode.OK
    ticket = answer["ticket"]
    verb = "queued" if answer["is_new"] else "was queued already as"
    console.say(f"{verb} {ticket['id']}: {ticket['title']} (repo {ticket['repo']})")
    if hidden := answer.get("hidden"):
        told = ", ".join(f"{count} {kind}{'' if count == 1 else 's'}" for kind, count in hidden.items())
        console.complain(f"its text holds what a reader does not see ({told}): autopilot show {ticket['id']}")
    return ExitCode.OK


def _alone(desk: Desk, fields: dict[str, Any]) -> dict[str, Any]:
    from autopilot.daemon import desk as verbs

    return verbs.add(desk, fields)


def read_text(args: argparse.Namespace) -> str:
    """Read the text from where the command line says.

    Raises:
        TicketError: there is none, there are two, or it cannot be read.
    """
    if args.file is not None:
        if args.text:
            raise TicketError("text-twice", "both text and --file were given", hint="give one of them")
        return given.file(args.file)
    if args.text == [given.STDIN]:
        return given.stdin()
    if not args.text and not args.title:
        hint = "write: autopilot add \"what to do\", or autopilot add '#12' with its quotes"
        raise TicketError("no-text", "the ticket has no text", hint=hint)
    words.check(args.text)
    return " ".join(args.text)


def _of_issue(args: argparse.Namespace, reference: str) -> dict[str, Any]:
    """Give the fields of a ticket whose text is an issue's."""
    fields = {"reference": reference, **_in_units(_given(args))}
    if args.title is not None:
        fields["title"] = args.title
    if reference.startswith("#") and args.repo is None:
        from autopilot.daemon.cli import standing

        fields["here"] = standing.places()
    return fields


def fields_of(args: argparse.Namespace, text: str) -> dict[str, Any]:
    """Join front matter, text and options into the fields of a ticket draft; options win.

    Raises:
        TicketError: a field cannot be read; the message names it.
    """
    from autopilot.daemon.cli import frontmatter

    fields, body = frontmatter.split(text)
    if args.title is not None:
        fields["title"] = args.title
    fields.update(frontmatter.title_and_body(fields.get("title"), body))
    fields.update(_given(args))
    return _in_units(fields)


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """Give what the options say."""
    told = {
        "repo": args.repo,
        "base": args.base,
        "agent": args.agent,
        "source_key": args.source_key,
        "priority": args.priority,
        "depends_on": args.depends_on,
        "acceptance": args.acceptance,
        "not_before": args.not_before,
    }
    return {name: value for name, value in told.items() if value is not None}


def _in_units(fields: dict[str, Any]) -> dict[str, Any]:
    moment = fields.pop("not_before", None)
    if moment is not None:
        try:
            fields["not_before_ms"] = parse_iso_ms(str(moment))
        except ValueError as exc:
            raise TicketError("ticket-invalid", f"not_before: {exc}", hint="mend the field") from exc
    level = fields.get("priority")
    if isinstance(level, str):
        fields["priority"] = _priority(level)
    for name in ("depends_on", "acceptance"):
        if isinstance(fields.get(name), str):
            fields[name] = [fields[name]]
    return fields


def _priority(level: str) -> int:
    word = level.strip().lower()
    numbers = [str(number) for number in range(len(shape.PRIORITIES))]
    for known in (shape.PRIORITIES, numbers):
        if word in known:
            return known.index(word)
    what = f"priority: {console.line(level)!r} is none"
    raise TicketError("ticket-invalid", what, hint=f"give {', '.join(shape.PRIORITIES)} or 0 to 3")
