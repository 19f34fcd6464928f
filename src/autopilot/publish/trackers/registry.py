"""The trackers, one line each."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.config.clock import Clock
    from autopilot.publish.askpass import Access
    from autopilot.publish.trackers.tracker import Tracker
    from autopilot.schemas.tracking import TrackerSpec

TIMEOUT_S = 15.0


@contextmanager
def open_tracker(
    spec: TrackerSpec, access: Access, *, clock: Clock, timeout_s: float = TIMEOUT_S
) -> Iterator[Tracker]:
    """Open a tracker.

    Args:
        spec: which one, and where.
        access: the credential; a tracker that anybody may read needs none.
        clock: the time.
        timeout_s: how long one answer may take.
    """
    match spec.kind:
        case "github":
            from autopilot.publish.trackers.github import GitHubTracker  # noqa: PLC0415 - httpx only where needed

            with GitHubTracker(spec, access, clock=clock, timeout_s=timeout_s) as tracker:
                yield tracker
        case "jira":
            from autopilot.publish.trackers.jira import JiraTracker  # noqa: PLC0415 - as above

            with JiraTracker(spec, access, clock=clock, timeout_s=timeout_s) as jira:
                yield jira
