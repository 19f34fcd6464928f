"""What happens to a ticket after a publication: pure. A failed publication never pays for an agent again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from autopilot.daemon.decide import RENEWED, backoff_ms, refused
from autopilot.schemas.decision import Park, PublishDecision, PublishDone, PublishLater
from autopilot.schemas.machine import Trigger, WaitingFor
from autopilot.schemas.publication import STOPPED, PublishOutcome
from autopilot.schemas.units import MS_PER_S, format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autopilot.daemon.rules import Rules
    from autopilot.daemon.store.rows import HistoryEntry
    from autopilot.schemas.publication import PublishVerdict

MAX_LOSSES = 3
"""A publisher that died this often is not tried again without a person."""

FEW_DEFERRALS = 12
"""Put off less often, it is tried again however long ago it began: the machine may have been off."""
LONG_DEFERRED_MS = 24 * 3600 * MS_PER_S
MANY_DEFERRALS = 96
"""Two days of trying at the longest back-off, whatever the clock says."""
_REFUSED = frozenset({"forge-refused-credential", "remote-refused-credential"})
_BEGINNINGS = frozenset({Trigger.PASS, Trigger.RESUME_PUBLISH})


@dataclass(frozen=True, slots=True)
class Deferred:
    """How often a commit's publication has been put off, and since when it is tried (UTC epoch ms)."""

    times: int
    since_ms: int
    was_refused: bool = False
    """Whether the last try met a credential that is not accepted."""


def deferred(moves: Iterable[HistoryEntry], *, since_ms: int) -> Deferred:
    """Read out of a ticket's moves, oldest first, how its present commit fared since a person last had a say.

    Args:
        moves: all of the ticket.
        since_ms: where they do not tell, since when it is tried.
    """
    times, told = 0, tuple(moves)
    for move in told:
        if move.trigger in _BEGINNINGS:
            times, since_ms = 0, move.at_ms
        elif move.trigger is Trigger.PUBLISH_LATER:
            times += 1
    return Deferred(times, since_ms, refused(told, later=Trigger.PUBLISH_LATER))


def after_publish(
    verdict: PublishVerdict | None,
    *,
    tries: int,
    losses: int,
    before: Deferred,
    rules: Rules,
    now_ms: int,
    jitter: float,
) -> PublishDecision:
    """Decide what becomes of a publishing ticket.

    Args:
        verdict: what the publisher wrote; None when it was lost.
        tries: publishers started for this commit, this one included.
        losses: publishers lost for this commit before this one.
        before: how often it was put off before this try.
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
            return _after_deferral(verdict, before, now_ms=now_ms, wait_ms=wait_ms)
        case PublishOutcome.VERIFICATION_FAILED if _may_be_renewed(verdict) and not before.was_refused:
            return PublishLater(now_ms + wait_ms, f"{RENEWED}: {verdict.message}")
        case PublishOutcome.VERIFICATION_FAILED:
            return Park(
                WaitingFor(verdict.waiting_for or "verification-failed"), verdict.message, verdict.hint
            )
        case _:
            assert_never(verdict.outcome)


def _may_be_renewed(verdict: PublishVerdict) -> bool:
    """Tell whether it met a token in whose place another may be by now: each publisher reads it anew."""
    return verdict.code in _REFUSED


def _after_deferral(
    verdict: PublishVerdict, before: Deferred, *, now_ms: int, wait_ms: int
) -> PublishLater | Park:
    """Try again later, but not for ever; what we stopped ourselves was no refusal."""
    times, lasted_ms = before.times + 1, max(0, now_ms - before.since_ms)
    is_long = times >= MANY_DEFERRALS or (times >= FEW_DEFERRALS and lasted_ms >= LONG_DEFERRED_MS)
    if is_long and verdict.code != STOPPED:
        lasted = format_duration(lasted_ms / MS_PER_S)
        reason = f"publishing was put off {times} times in {lasted}; the last time: {verdict.message}"
        cure = f"{verdict.hint}; then" if verdict.hint else "look at `autopilot logs`; once that works:"
        return Park(WaitingFor.PUBLISH_DEFERRED, reason, f"{cure} `autopilot resume`")
    told_ms = 0 if verdict.retry_after_s is None else round(verdict.retry_after_s * MS_PER_S)
    return PublishLater(now_ms + max(wait_ms, told_ms), verdict.message)


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
