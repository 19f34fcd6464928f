"""Reads what a publisher left behind, or one that asked about drafts, and says whether it can be believed.

Must not decide what follows from it (`decide_publish.py` does). What does not pass is a text with the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from autopilot.config.journal import read_lines
from autopilot.daemon.judge import read_left
from autopilot.schemas.events import Event
from autopilot.schemas.publication import STOPPED, PublishOutcome, PublishVerdict, PullStateReport
from autopilot.schemas.records import faults_of

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.daemon.store.rows import LivePublication
    from autopilot.schemas.publication import PullStateSpec


def verdict_of(live: LivePublication, verdict: Path) -> PublishVerdict | str:
    """Give the publisher's verdict, or a text that says why there is none that can be believed."""
    raw = read_left(verdict)
    if isinstance(raw, str):
        return f"verdict: {raw}"
    try:
        value = PublishVerdict.model_validate_json(raw)
    except ValidationError as exc:
        return f"the verdict is not valid: {faults_of(exc, whole='document')[0]}"
    publication = live.publication
    seen = (value.id, value.ticket_id, value.run_id)
    if seen != (publication.id, publication.ticket_id, publication.run_id):
        return f"the verdict belongs to {seen}"
    if value.fence is not None and value.fence != publication.fence:
        return f"the verdict is of another try (fence {value.fence}, not {publication.fence})"
    if value.fence is None and value.finished_ms < publication.started_ms:
        return "the verdict is older than this try"
    return value


def report_of(spec: PullStateSpec) -> PullStateReport | str:
    """Give the report on these questions, or a text that says why there is none that can be believed."""
    raw = read_left(spec.report)
    if isinstance(raw, str):
        return f"report: {raw}"
    try:
        report = PullStateReport.model_validate_json(raw)
    except ValidationError as exc:
        return f"the report is not valid: {faults_of(exc, whole='document')[0]}"
    if report.id != spec.id:
        return f"the report belongs to {report.id}"
    if strangers := {each.publication for each in report.answers} - {each.publication for each in spec.pulls}:
        return f"the report names what was not asked: {', '.join(sorted(strangers))}"
    return report


def stopped_verdict(live: LivePublication, why: str, now_ms: int) -> PublishVerdict:
    """Say in its place what a publisher could not: that it was stopped by us, through no fault of its own."""
    publication = live.publication
    return PublishVerdict(
        id=publication.id,
        ticket_id=publication.ticket_id,
        run_id=publication.run_id,
        fence=publication.fence,
        outcome=PublishOutcome.PUBLISH_DEFERRED,
        code=STOPPED,
        message=f"it was stopped: {why}",
        finished_ms=now_ms,
    )


def so_far(verdict: PublishVerdict, journal: Path) -> PublishVerdict:
    """Add to the verdict of a publisher that was cut off what its journal says was done by then."""
    try:
        entries = read_lines(journal).entries if journal.is_file() else ()
    except OSError:
        return verdict
    told: dict[str, Any] = {"pushed": verdict.pushed, "pr": verdict.pr}
    for entry in entries:
        if entry.get("publication") != verdict.id:
            continue
        match entry.get("event"):
            case Event.PUBLISH_PUSHED:
                told["pushed"] = told["pushed"] or entry.get("head")
            case Event.PUBLISH_PR_OPENED:
                told["pr"] = told["pr"] or {
                    "number": entry.get("number"),
                    "url": entry.get("url"),
                    "draft": True,
                }
            case _:
                pass
    try:
        return PublishVerdict.model_validate({**verdict.model_dump(), **told})
    except ValidationError:
        return verdict
