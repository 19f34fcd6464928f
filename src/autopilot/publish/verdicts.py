"""The verdicts that there are, one constructor each; nothing else makes one.

Must not look at anything but whether the program is still the same, and how much room the disk has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from autopilot.config import installed
from autopilot.config.room import memory_short
from autopilot.config.shortage import full
from autopilot.publish.stops import CredentialError, Stop
from autopilot.schemas.errors import TransientError
from autopilot.schemas.publication import STOPPED, CheckLine, PublishOutcome, PublishVerdict

if TYPE_CHECKING:
    from autopilot.publish.stops import WaitingFor
    from autopilot.schemas.cell import OpenedKind
    from autopilot.schemas.errors import AutopilotError
    from autopilot.schemas.gate import GateRecord
    from autopilot.schemas.publication import PublishSpec, PullRequest


WHERE = " in its check "
"""Begins the note that an error takes along from the check that it broke."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What is known when a verdict is due."""

    spec: PublishSpec
    now_ms: int
    checks: tuple[CheckLine, ...] = ()
    gates: tuple[GateRecord, ...] = ()
    sandbox: OpenedKind | None = None
    """What the gates were run again in."""
    pushed: str | None = None
    base_behind: int | None = None

    def tell(
        self,
        outcome: PublishOutcome,
        code: str,
        message: str,
        *,
        hint: str = "",
        waiting_for: WaitingFor | None = None,
        pr: PullRequest | None = None,
        retry_after_s: float | None = None,
    ) -> PublishVerdict:
        """Put a verdict together."""
        return PublishVerdict(
            id=self.spec.id,
            ticket_id=self.spec.ticket_id,
            run_id=self.spec.run_id,
            fence=self.spec.fence,
            outcome=outcome,
            code=code,
            message=message,
            hint=hint,
            waiting_for=waiting_for,
            checks=self.checks,
            gates=self.gates,
            pushed=self.pushed,
            base_behind=self.base_behind,
            pr=pr,
            retry_after_s=retry_after_s,
            finished_ms=self.now_ms,
        )


def opened(story: Story, pr: PullRequest, *, code: str) -> PublishVerdict:
    """A pull request of our commit is there."""
    if pr.state == "merged":
        text = f"pull request {pr.number} was merged already"
    else:
        text = f"{'draft' if pr.draft else 'pull request'} {pr.number} is open: {pr.url}"
    return story.tell(PublishOutcome.PR_OPENED, code, text, pr=pr)


def refused(story: Story) -> PublishVerdict:
    """At least one check failed; nothing left the machine."""
    failed = [line for line in story.checks if not line.passed]
    is_ours = {line.check for line in failed} == {"repository"}
    return story.tell(
        PublishOutcome.VERIFICATION_FAILED,
        f"check-{failed[0].check}",
        f"not published: {', '.join(line.check for line in failed)}",
        hint="; ".join(reason for line in failed for reason in line.reasons[:2]),
        waiting_for="configuration" if is_ours else "verification-failed",
    )


def ended(story: Story, error: AutopilotError) -> PublishVerdict:
    """The checks passed, but delivery ended early: nobody acts (later), or a person."""
    if isinstance(error, TransientError):
        return story.tell(
            PublishOutcome.PUBLISH_DEFERRED,
            error.code,
            error.what,
            hint=error.hint,
            retry_after_s=error.retry_after_s,
        )
    if error.code == "draft-unsupported" and story.pushed:
        return story.tell(PublishOutcome.PUSHED_AWAITING_PR, error.code, error.what, hint=error.hint)
    about: WaitingFor = "credential" if isinstance(error, CredentialError) else "configuration"
    return story.tell(
        PublishOutcome.VERIFICATION_FAILED,
        error.code,
        error.what,
        hint=error.hint,
        waiting_for=error.waiting_for if isinstance(error, Stop) else about,
        pr=error.pr if isinstance(error, Stop) else None,
    )


def stopped(story: Story) -> PublishVerdict:
    """We were told to stop in the middle; the next try finds out how far this one got."""
    text = "the publisher was told to stop"
    return story.tell(PublishOutcome.PUBLISH_DEFERRED, STOPPED, text, retry_after_s=0.0)


def broken(story: Story, error: Exception) -> PublishVerdict:
    """What the machine has none of passes: later. All else cannot be; its own output tells of it."""
    where = next((note for note in getattr(error, "__notes__", ()) if note.startswith(WHERE)), "")
    if isinstance(error, OSError) and (told := full(error, story.spec.workdir)) is not None:
        return ended(story, told)
    if isinstance(error, MemoryError):
        return ended(story, memory_short())
    if isinstance(error, TransientError):
        return ended(story, error)
    return story.tell(
        PublishOutcome.VERIFICATION_FAILED,
        "bug",
        f"the publisher broke{where}: {type(error).__name__}",
        hint="the publisher's own output has the details; report it",
        waiting_for="verification-failed",
    )


def by_one_program(story: Story, verdict: PublishVerdict) -> PublishVerdict:
    """Take no word against a commit from parts of two programs: the next publisher is of one."""
    if verdict.outcome is not PublishOutcome.VERIFICATION_FAILED or not installed.is_replaced():
        return verdict
    return ended(replace(story, pushed=verdict.pushed), installed.replaced())
