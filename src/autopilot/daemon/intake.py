"""Makes a ticket's fields of an issue that a person has named: a child of the publisher's part reads it.

Must not read a credential or speak to a tracker itself. What was read is text of others: it becomes title and
body and the origin says whose it is; nothing else of it decides anything.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from autopilot.daemon.errand import Errand
from autopilot.daemon.issues import resolve
from autopilot.daemon.question import answer
from autopilot.schemas.errors import (
    AutopilotError,
    ConfigError,
    InvariantError,
    RefusedError,
    TicketError,
    TransientError,
)
from autopilot.schemas.hidden import show_hidden
from autopilot.schemas.issues import parse
from autopilot.schemas.ticket import MAX_BODY_CHARS, MAX_TITLE_CHARS
from autopilot.schemas.tracking import IssueReport, IssueSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.config.clock import Clock
    from autopilot.config.settings import Settings
    from autopilot.daemon.issues import Target
    from autopilot.schemas.tracking import Issue

_REFERENCE, _HERE = "reference", "here"
ANSWER_S = 15.0
"""What the tracker may take for one answer."""
WALL_S = 30.0
"""What the child may take with it."""


def of_reference(fields: Mapping[str, Any], settings: Settings, clock: Clock) -> dict[str, Any]:
    """Give the fields of the ticket that is meant; without a reference they are what they were.

    Raises:
        TicketError: the reference names nothing that can be worked on.
        RefusedError: `author-unknown`: the tracker does not tell who wrote it.
        ConfigError: the tracker or its credential is not set up.
        TransientError: the tracker does not answer.
        InvariantError: whoever was asked to read it broke.
    """
    told = dict(fields)
    text, here = told.pop(_REFERENCE, None), told.pop(_HERE, ())
    if text is None:
        return told
    reference = parse(text) if isinstance(text, str) else None
    if reference is None:
        hint = "write #12, repo#12, PROJ-7 or the address of an issue"
        raise TicketError("reference-unknown", f"reference: {str(text)[:60]!r} names no issue", hint=hint)
    if told.get("source_key") is not None:
        raise TicketError("source-twice", "source_key: an issue is its own", hint="leave --source-key out")
    places = [place for place in here if isinstance(place, str)] if isinstance(here, list | tuple) else []
    repo = told.get("repo")
    target = resolve(settings, reference, repo=repo if isinstance(repo, str) else None, here=places)
    return {
        **_as_fields(_read(target, clock), target),
        **told,
        "repo": target.repo,
        "source_key": target.name,
    }


def _read(target: Target, clock: Clock) -> Issue:
    report = answer(
        "read",
        lambda told, workdir: IssueSpec(
            report=told,
            workdir=workdir,
            tracker=target.tracker,
            reference=target.number,
            answer_s=ANSWER_S,
        ),
        IssueReport,
        key=f"read-{target.tracker.name}",
        errand=Errand.to_tracker(target.tracker),
        clock=clock,
        wall_s=WALL_S,
    )
    if isinstance(report, str):
        what = f"{target.name} was not read from {target.tracker.site}: {report}"
        raise TransientError(
            "tracker-silent", what, hint="try again; where it says the same, send a report: autopilot report"
        )
    if report.issue is None:
        raise _error(report, target)
    return report.issue


def _error(report: IssueReport, target: Target) -> AutopilotError:
    what, hint = f"{target.name}: {report.message}", report.hint
    match report.acts:
        case "nobody":
            return TransientError(report.code, what, hint=hint)
        case "operator":
            return ConfigError(report.code, what, hint=hint)
        case "author":
            return TicketError(report.code, what, hint=hint)
        case "us":
            return InvariantError(report.code, what, hint=hint)


def _as_fields(issue: Issue, target: Target) -> dict[str, Any]:
    """Give title, body and origin of the ticket; what would not fit into a title stays in the body."""
    if issue.state == "closed":
        hint = 'reopen it, or write in your own words: autopilot add "what to do"'
        raise TicketError("issue-closed", f"{target.name} is closed", hint=hint)
    if issue.author is None:
        what = f"{target.name} is not taken in: {target.tracker.site} does not tell who wrote it"
        raise RefusedError("author-unknown", what, hint='read it; then: autopilot add "what to do"')
    title, body = _plain(issue.title) or target.name, issue.body.replace("\x00", "\\u{0}")
    if len(title) > MAX_TITLE_CHARS:
        body = f"{title}\n\n{body}"
        title = f"{title[: MAX_TITLE_CHARS - 1].rstrip()}…"
    if len(body) > MAX_BODY_CHARS:
        what = f"{target.name} holds {len(body):,} characters; a ticket may hold {MAX_BODY_CHARS:,}"
        raise TicketError("issue-too-large", what, hint="shorten it, or split it into several")
    origin = {
        "source": target.tracker.name,
        "author": issue.author,
        "association": issue.association,
        "editors": list(issue.editors),
    }
    return {"title": title, "body": body, "origin": origin}


def _plain(title: str) -> str:
    """Make one line of a title; what a terminal would obey is shown by its number."""
    line = "".join(
        show_hidden(char).text if unicodedata.category(char) in {"Cc", "Zl", "Zp"} else char
        for char in title.replace("\n", " ").replace("\t", " ")
    )
    return line.strip()
