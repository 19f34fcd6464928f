"""What happens to a ticket after a publication: pure. A failed publication never pays for an agent again."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from autopilot.daemon.decide import backoff_ms
from autopilot.schemas.decision import Park, PublishDecision, PublishDone, PublishLater
from autopilot.schemas.machine import WaitingFor
from autopilot.schemas.publication import PublishOutcome
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from autopilot.daemon.rules import Rules
    from autopilot.schemas.publication import PublishVerdict

MAX_LOSSES = 3
"""A publisher that died this often is not tried again without a person."""


def after_publish(
    verdict: PublishVerdict | None, *, tries: int, losses: int, rules: Rules, now_ms: int, jitter: float
) -> PublishDecision:
    """Decide what becomes of a publishing ticket.

    Args:
        verdict: what the publisher wrote; None when it was lost.
        tries: publishers started for this commit, this one included.
        losses: publishers lost for this commit before this one.
        rules: for the back-off.
        now_ms: UTC epoch ms.
        jitter: in [0, 1).
    """
    wait_ms = backoff_ms(tries, rules, jitter)
    if verdict is None:
        return _after_loss(losses, now_ms + wait_ms)
    match verdict.outcome:
        case PublishOutcome.PR_OPENED | PublishOutcome.PUSHED_AWAITING_PR:
            return _done(verdict)
        case PublishOutcome.PUBLISH_DEFERRED:
            told_ms = 0 if verdict.retry_after_s is None else round(verdict.retry_after_s * MS_PER_S)
            return PublishLater(now_ms + max(wait_ms, told_ms), verdict.message)
        case PublishOutcome.VERIFICATION_FAILED:
            return Park(
                WaitingFor(verdict.waiting_for or "verification-failed"), verdict.message, verdict.hint
            )
        case _:
            assert_never(verdict.outcome)


def _after_loss(losses: int, not_before_ms: int) -> PublishLater | Park:
    if losses + 1 < MAX_LOSSES:
        return PublishLater(not_before_ms, "the publisher died without a verdict")
    reason = f"the publisher died {losses + 1} times without a verdict"
    return Park(WaitingFor.RUNNER_LOST, reason, "look at `autopilot logs`, then `autopilot resume`")


def _done(verdict: PublishVerdict) -> PublishDecision:
    if verdict.pushed is None:
        reason = f"the publisher says {verdict.outcome.value}, but names no commit that it pushed"
        return Park(
            WaitingFor.VERIFICATION_FAILED, reason, "look at `autopilot logs`, then `autopilot resume`"
        )
    is_awaiting = verdict.outcome is PublishOutcome.PUSHED_AWAITING_PR
    return PublishDone(verdict.pr.url if verdict.pr else None, verdict.pushed, awaiting_pr=is_awaiting)
