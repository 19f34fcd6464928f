"""Asks a tracker for one issue, or for what our credential may do there, and sorts what was in the way.

Must not change anything there, nor keep a word of the token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from autopilot.publish import credential
from autopilot.publish.trackers.registry import open_tracker
from autopilot.schemas.errors import AutopilotError, ConfigError, TransientError
from autopilot.schemas.publication import ReachReport
from autopilot.schemas.tracking import IssueReport

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.schemas.tracking import IssueSpec, TrackerCheckSpec

_THEN = "try again, as whoever runs the daemon; docs/trackers.md says what it may"


def read_issue(spec: IssueSpec, *, clock: Clock, folder: Path) -> IssueReport:
    """Read the issue; an error on purpose becomes a report that says who can mend it."""
    try:
        with (
            credential.access(spec.tracker.credential, folder, then=_THEN) as access,
            open_tracker(spec.tracker, access, clock=clock, timeout_s=spec.answer_s) as tracker,
        ):
            return IssueReport(issue=tracker.read(spec.reference))
    except TransientError as exc:
        return IssueReport(acts="nobody", code=exc.code, message=exc.what, hint=exc.hint)
    except ConfigError as exc:
        return IssueReport(acts="operator", code=exc.code, message=exc.what, hint=exc.hint)
    except AutopilotError as exc:
        return IssueReport(acts="author", code=exc.code, message=exc.what, hint=exc.hint)


def unread(code: str, message: str, *, acts: Literal["nobody", "us"]) -> IssueReport:
    """Say of a reading that came to no end why, and who can mend it."""
    hint = "send a report: autopilot report" if acts == "us" else "try again"
    return IssueReport(acts=acts, code=code, message=message, hint=hint)


def look(spec: TrackerCheckSpec, *, clock: Clock, folder: Path) -> ReachReport:
    """Ask what the credential may do; an error on purpose becomes a report without an answer."""
    try:
        with (
            credential.access(spec.tracker.credential, folder, then=_THEN) as access,
            open_tracker(spec.tracker, access, clock=clock, timeout_s=spec.answer_s) as tracker,
        ):
            return ReachReport(weaknesses=tracker.weaknesses())
    except AutopilotError as exc:
        return ReachReport(code=exc.code, message=exc.what)
