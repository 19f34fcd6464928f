"""What the credential of each tracker may do there: to read and to comment is enough, and more is named.

Must not read a credential, or speak to a tracker: a publisher of its own does, and writes a report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config import secrets
from autopilot.daemon.checkup import queue
from autopilot.daemon.checkup.check import blocked, ok, warning
from autopilot.daemon.checkup.configured import credential
from autopilot.daemon.errand import Errand
from autopilot.daemon.issues import tracker_of, trackers
from autopilot.daemon.question import answer
from autopilot.schemas.publication import ReachReport
from autopilot.schemas.tracking import TrackerCheckSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from autopilot.daemon.checkup.probe import Limit
    from autopilot.daemon.checkup.scene import Scene
    from autopilot.schemas.checkup import Check
    from autopilot.schemas.ticket import Ticket
    from autopilot.schemas.tracking import TrackerSpec

_WALL_S = 40.0
_CURE = "give it an account of its own that may browse projects and add comments: docs/trackers.md"
_CURE_UNNAMED = "name one with `credential`, or turn report_issue_updates off: docs/trackers.md"
_CURE_GITHUB = "give it a fine-grained token for issues, of this one repository: docs/trackers.md"


def reaches(scene: Scene, limit: Limit) -> Iterator[Check]:
    """Look at each tracker that has a table; those of forges are looked at with the forge."""
    tickets = queue.waiting(scene) if scene.settings.trackers else ()
    for spec in trackers(scene.settings):
        yield _reach(spec, scene, limit, _came_from(spec, tickets, scene))


def _reach(spec: TrackerSpec, scene: Scene, limit: Limit, tickets: Sequence[str]) -> Check:
    """Look at one tracker.

    It blocks only where an issue is to be told something tonight: what a queued ticket says was read before.
    """
    label = f"tracker {spec.name}"
    is_needed = bool(tickets) and scene.settings.report_issue_updates
    wanting = blocked if is_needed else warning
    told = f"; {queue.told(tickets)} came from it" if tickets else ""
    if not spec.credential and is_needed:
        return blocked(label, f"to comment takes a token, and it names none{told}", _CURE_UNNAMED)
    if not spec.credential:
        return ok(label, f"{spec.url} is asked without a credential{told}")
    standing = credential(spec.credential, scene.runner)
    if standing.blocks:
        return wanting(label, f"the credential {spec.credential} {standing.evidence}{told}", standing.cure)
    if secrets.status(spec.credential) != "readable" or (spec.kind == "github" and not spec.project):
        return ok(label, f"its credential is there; what it may cannot be asked from here{told}")
    report = _asked(spec, scene, limit)
    cure = _CURE if spec.kind == "jira" else _CURE_GITHUB
    if report.code:
        found = wanting if report.code == "tracker-refused-credential" else warning
        return found(label, f"what its token may is not known: {report.message} [{report.code}]{told}", cure)
    if report.weaknesses:
        return warning(label, "\n".join(report.weaknesses), cure)
    return ok(label, f"its token may read and comment, and nothing else that {spec.kind} tells{told}")


def _asked(spec: TrackerSpec, scene: Scene, limit: Limit) -> ReachReport:
    told = answer(
        "reach",
        lambda report, workdir: TrackerCheckSpec(report=report, workdir=workdir, tracker=spec),
        ReachReport,
        key=f"doctor-{spec.name}",
        errand=Errand.to_tracker(spec),
        clock=scene.clock,
        wall_s=_WALL_S,
        should_stop=limit.should_stop,
    )
    return ReachReport(code="tracker-silent", message=told) if isinstance(told, str) else told


def _came_from(spec: TrackerSpec, tickets: Sequence[Ticket], scene: Scene) -> tuple[str, ...]:
    """Name the waiting tickets whose issues it tells."""
    found = ((ticket.id, tracker_of(scene.settings, ticket.source_key, ticket.repo)) for ticket in tickets)
    return tuple(name for name, target in found if target is not None and target.tracker.name == spec.name)
