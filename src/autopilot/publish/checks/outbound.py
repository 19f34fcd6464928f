"""The text that will leave: secrets refuse it; everything else is made harmless and noted.

Must not send anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.publish import marks
from autopilot.publish.body import write
from autopilot.publish.context import Context, Findings
from autopilot.publish.facts import gather, secrets_in
from autopilot.schemas import outbound

if TYPE_CHECKING:
    from collections.abc import Iterator


def check(ctx: Context) -> Findings:
    """Look at what the run wrote, and at the text as it will be sent."""
    request = ctx.request
    if request is None:
        return Findings(("there is no text: the request cannot be read",))
    said = {
        "the title": request.title,
        "the summary": request.summary,
        "the notes": "\n".join(request.notes),
        "what was blocked": "\n".join(each.what for each in request.blocked),
        "the reasons of the changes": "\n".join(line.reason for line in request.scope_check),
    }
    facts = gather(ctx, ())
    reasons = [*secrets_in(said), *faults_of(facts.title, write(facts), roots=ctx.roots)]
    notes = [
        f"{place}: {note}"
        for place, text in said.items()
        for note in outbound.clean(text, roots=ctx.roots).notes
    ]
    return Findings(tuple(reasons), tuple(notes))


def faults_of(title: str, body: str, *, roots: tuple[str, ...]) -> Iterator[str]:
    """Say why a title and a body, our marker aside, may not be sent. Asked once more right before sending."""
    yield from secrets_in({"the pull request": f"{title}\n{body}"})
    for fault in outbound.faults(f"{title}\n{marks.without(body)}", roots=roots):
        yield f"the text still holds: {fault}"
