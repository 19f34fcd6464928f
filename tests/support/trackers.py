"""Opens our trackers against the stand-ins."""

from contextlib import AbstractContextManager

from autopilot.config.clock import SystemClock
from autopilot.publish.askpass import Access
from autopilot.publish.trackers.registry import open_tracker
from autopilot.publish.trackers.tracker import Tracker
from autopilot.schemas.tracking import TrackerSpec
from tests.support.forge.server import Forge
from tests.support.jira import Jira

SITE = "https://jira.example.org"


def github(
    forge: Forge, project: str = "o/r", *, token: str | None = None, timeout_s: float = 10.0
) -> AbstractContextManager[Tracker]:
    spec = TrackerSpec(
        kind="github", name="github", url=forge.api_url, site="https://git.example.org", project=project
    )
    return opened(spec, forge.token if token is None else token, timeout_s=timeout_s)


def jira(
    server: Jira, *, token: str | None = None, timeout_s: float = 10.0
) -> AbstractContextManager[Tracker]:
    spec = TrackerSpec(kind="jira", name="jira", url=server.url, site=SITE, account=server.account)
    return opened(spec, server.token if token is None else token, timeout_s=timeout_s)


def opened(spec: TrackerSpec, token: str, *, timeout_s: float = 10.0) -> AbstractContextManager[Tracker]:
    return open_tracker(spec, Access({}, token), clock=SystemClock(), timeout_s=timeout_s)
