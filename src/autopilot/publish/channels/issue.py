"""A channel that is an issue of a tracker: one comment, and never a second one that says the same.

Must not change anything else there. What the comment is known by is looked for before it is made, and where
the answer to it was lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.publish import credential, road
from autopilot.publish.answers import Lost
from autopilot.publish.channels.sent import Sent, sent
from autopilot.publish.trackers.registry import open_tracker
from autopilot.publish.trackers.tracker import Ours
from autopilot.schemas.errors import AutopilotError, ConfigError, TicketError, TransientError

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.publish.trackers.tracker import Tracker
    from autopilot.schemas.delivery import IssueTarget

_THEN = "it is tried again; docs/trackers.md says what it may"


def unreachable(issue: IssueTarget) -> Sent | None:
    """Say why there is no way to the tracker; None: there is one, as far as this machine knows."""
    try:
        road.transport(issue.tracker.url).close()
    except ConfigError as exc:
        return Sent("not-sent", exc.code, exc.what, exc.hint)
    return None


def send(issue: IssueTarget, text: str, *, clock: Clock, folder: Path) -> Sent:
    """Comment on it, unless that is done already."""
    try:
        with (
            credential.access(issue.tracker.credential, folder, then=_THEN) as access,
            open_tracker(issue.tracker, access, clock=clock) as tracker,
        ):
            if tracker.find(issue.reference, _ours(issue, text)):
                return sent()
            return _commented(tracker, issue, text)
    except TicketError as exc:
        return Sent("rejected", exc.code, exc.what, exc.hint)
    except AutopilotError as exc:  # nothing was written yet
        return Sent("not-sent", exc.code, exc.what, exc.hint)


def is_there(issue: IssueTarget, text: str, *, clock: Clock, folder: Path) -> bool:
    """Tell whether an earlier try has made it after all; False where that cannot be told."""
    try:
        with (
            credential.access(issue.tracker.credential, folder, then=_THEN) as access,
            open_tracker(issue.tracker, access, clock=clock) as tracker,
        ):
            return tracker.find(issue.reference, _ours(issue, text))
    except AutopilotError:
        return False


def _commented(tracker: Tracker, issue: IssueTarget, text: str) -> Sent:
    try:
        tracker.comment(issue.reference, text)
    except Lost as exc:
        return _looked_for(tracker, issue, text, exc)
    except TransientError as exc:  # a rate limit: it says itself that nothing was done
        return Sent("not-sent", exc.code, exc.what, exc.hint)
    except AutopilotError as exc:
        return Sent("rejected", exc.code, exc.what, exc.hint)
    return sent()


def _looked_for(tracker: Tracker, issue: IssueTarget, text: str, lost: Lost) -> Sent:
    """Find out what the lost answer would have said; a comment that is not there may still come."""
    doubt = Sent("unsure", lost.code, f"{lost.what}: it may have been sent", lost.hint)
    try:
        return sent() if tracker.find(issue.reference, _ours(issue, text)) else doubt
    except AutopilotError:
        return doubt


def _ours(issue: IssueTarget, text: str) -> Ours:
    """Say what our comment is known by: its first line names the draft, and what follows may be new."""
    return Ours(issue.known_by, text.strip().partition("\n")[0].rstrip())
