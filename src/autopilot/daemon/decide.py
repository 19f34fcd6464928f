"""What happens to a ticket after a run: pure, and the only place that knows.

Recovery turns what it finds into a `Loss` and comes here too; there is no second path. After a publication
see `decide_publish.py`. Must not read a clock or draw a random number: both are handed in.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeVar, assert_never

from autopilot.daemon.breaker import Production, renewal_rest_ms
from autopilot.daemon.windows import clamped_reset_ms
from autopilot.schemas.decision import Cancel, Fail, Park, Pass, Release, Retry, RunDecision
from autopilot.schemas.gate import ungreen
from autopilot.schemas.machine import Trigger, WaitingFor
from autopilot.schemas.run import CONTENTION_CODES, Outcome, RunResult
from autopilot.schemas.units import iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from autopilot.daemon.breaker import ScopeKind
    from autopilot.daemon.rules import Rules
    from autopilot.daemon.store.rows import HistoryEntry
    from autopilot.schemas.ticket import Ticket

Again = TypeVar("Again", Retry, Release)
LossCause = Literal["died", "stopped", "reboot", "never-started"]
"""On its own · because we asked it to end · with the whole machine · not even once."""

_JITTER_SHARE = 0.25
_MOST_DOUBLINGS = 32
_USAGE_JITTER_MS = 60_000
_SOMETHING = frozenset({Outcome.COMMITTED, Outcome.ASKED, Outcome.GATES_FAILED})
_NOTHING: Mapping[Outcome, ScopeKind] = MappingProxyType(
    {
        Outcome.AGENT_FAILED: "agent",
        Outcome.AGENT_MISSING: "agent",
        Outcome.CREDENTIAL: "agent",
        Outcome.NO_CHANGES: "agent",
        Outcome.TIMED_OUT: "agent",
        Outcome.BASE_BRANCH: "repo",
        Outcome.CONFIGURATION: "repo",
        Outcome.INFRASTRUCTURE: "host",
        Outcome.BUG: "host",
    }
)
_CONCLUSIVE = frozenset({Outcome.AGENT_MISSING, Outcome.CREDENTIAL})
_NOT_RENEWED = frozenset({"agent-billing", "git-host-key"})
"""Codes of a credential that no other one would help."""
RENEWED = "the credential is read again, and tried once more"
"""How the reason of a move begins after which a credential that was refused is tried again."""
_ANEW = frozenset({Trigger.REQUEUE, Trigger.RESUME_RUN, Trigger.RESUME_PUBLISH, Trigger.PASS})
_PARKS: Mapping[Outcome, WaitingFor] = MappingProxyType(
    {
        Outcome.GATES_FAILED: WaitingFor.BREAKER,
        Outcome.NO_CHANGES: WaitingFor.NO_CHANGES,
        Outcome.OVER_CEILING: WaitingFor.BUDGET,
        Outcome.OVER_BUDGET: WaitingFor.BREAKER,
        Outcome.CREDENTIAL: WaitingFor.CREDENTIAL,
        Outcome.CONFIGURATION: WaitingFor.CONFIGURATION,
        Outcome.BASE_BRANCH: WaitingFor.BASE_BRANCH,
    }
)


@dataclass(frozen=True, slots=True)
class Loss:
    """A run that left no result: how the supervisor or the recovery found it."""

    run_id: str
    fence: int
    reason: str
    cause: LossCause
    at_ms: int
    told_micro_usd: int = 0
    """What it has cost, as far as its journal tells: a daemon that died may not have heard of it."""


RunReport = RunResult | Loss


def after_run(
    ticket: Ticket,
    report: RunReport,
    *,
    rules: Rules,
    now_ms: int,
    jitter: float,
    was_refused: bool = False,
) -> RunDecision:
    """Decide what becomes of a running ticket.

    Args:
        ticket: as it stands now, its counters already holding this attempt.
        report: the run's result, or how it was lost.
        rules: the limits.
        now_ms: UTC epoch ms.
        jitter: in [0, 1), so that tickets that failed together do not come back together.
        was_refused: whether its run before this one met a credential that is not accepted: `refused` tells.
    """
    if ticket.cancel_requested:
        return Cancel("the operator asked for it while it was running")
    ticket = ticket.model_copy(update={"tokens": ticket.tokens + tokens_of(report)})
    decision: RunDecision
    if isinstance(report, Loss):
        decision = _after_loss(ticket, report, rules=rules, jitter=jitter)
    elif may_be_renewed(report) and not was_refused:
        rest_ms = renewal_rest_ms(rules)
        decision = Release(now_ms + rest_ms, f"{RENEWED}: {report.message}", _hint(report))
    else:
        decision = _after_result(ticket, report, rules=rules, now_ms=now_ms, jitter=jitter)
    match decision:
        case Retry():
            return _bounded_retry(ticket, decision, rules)
        case Release():
            return _bounded_release(ticket, decision, rules)
        case _:
            return decision


def may_be_renewed(report: RunReport) -> bool:
    """Tell whether a run met a credential that another one may stand in the place of by now."""
    if isinstance(report, Loss) or report.outcome is not Outcome.CREDENTIAL:
        return False
    return report.code not in _NOT_RENEWED


def refused(moves: Iterable[HistoryEntry], *, later: Trigger) -> bool:
    """Tell from a ticket's moves, oldest first, whether the last try met a credential that is not accepted.

    Args:
        moves: all of the ticket.
        later: the move of a try that is to be made again.
    """
    is_refused = False
    for move in moves:
        if move.trigger is later:
            is_refused = move.reason.startswith(RENEWED)
        elif move.trigger in _ANEW:
            is_refused = False
    return is_refused


def tokens_of(report: RunReport) -> int:
    """Give what a run used of its ticket's tokens; a lost one has told nothing."""
    return 0 if isinstance(report, Loss) else report.usage.tokens


def production(report: RunReport) -> Production:
    """Classify an attempt as having produced something, nothing, or no evidence either way (feature B15)."""
    if isinstance(report, Loss):
        match report.cause:
            case "died":
                return Production(produced=False, failure_class="runner-lost", scope="host")
            case "never-started":
                return Production(produced=False, failure_class="runner-not-started", scope="host")
            case "stopped" | "reboot":
                return Production(produced=None)
    if report.outcome in _SOMETHING:
        return Production(produced=True)
    scope = _NOTHING.get(report.outcome)
    is_contention = report.outcome is Outcome.INFRASTRUCTURE and report.code in CONTENTION_CODES
    if scope is None or is_contention:
        return Production(produced=None)
    return Production(
        produced=False,
        failure_class=report.outcome.value,
        scope=scope,
        is_conclusive=report.outcome in _CONCLUSIVE,
        may_be_renewed=may_be_renewed(report),
    )


def backoff_ms(nth: int, rules: Rules, jitter: float) -> int:
    """Give the wait before try number `nth` + 1: doubling up to the cap, then up to a quarter shorter."""
    doublings = min(max(0, nth - 1), _MOST_DOUBLINGS)
    full_ms = min(rules.backoff_ms << doublings, rules.backoff_cap_ms)
    return round(full_ms * (1 - _JITTER_SHARE * jitter))


def _after_loss(ticket: Ticket, loss: Loss, *, rules: Rules, jitter: float) -> Retry | Release | Park:
    match loss.cause:
        case "stopped" | "reboot":
            return Release(loss.at_ms, loss.reason)
        case "never-started":
            wait_ms = backoff_ms(ticket.releases + 1, rules, jitter)
            return Release(loss.at_ms + wait_ms, loss.reason, hint="`autopilot doctor` checks the runner")
        case "died" if ticket.losses == 0:
            return Release(loss.at_ms + backoff_ms(1, rules, jitter), loss.reason)
        case "died":
            hint = "look at `autopilot logs`, then `autopilot retry` when the cause is gone"
            return Park(WaitingFor.RUNNER_LOST, f"{loss.reason}, and not for the first time", hint)
        case _:
            assert_never(loss.cause)


def _after_result(
    ticket: Ticket, result: RunResult, *, rules: Rules, now_ms: int, jitter: float
) -> RunDecision:
    match result.outcome:
        case Outcome.COMMITTED:
            return _after_commit(ticket, result, rules=rules, now_ms=now_ms, jitter=jitter)
        case Outcome.ASKED:
            return _after_question(ticket, result, rules)
        case Outcome.USAGE_LIMIT:
            return _after_usage_limit(result, now_ms=now_ms, jitter=jitter)
        case Outcome.STOPPED:
            return Release(now_ms, result.message, result.hint)
        case Outcome.INFRASTRUCTURE | Outcome.AGENT_MISSING:  # no fault of the ticket: it keeps its attempt
            wait_ms = backoff_ms(ticket.releases + 1, rules, jitter)
            return Release(now_ms + wait_ms, result.message, result.hint)
        case Outcome.AGENT_FAILED | Outcome.TIMED_OUT | Outcome.BUG:
            return _again(ticket, result, rules=rules, now_ms=now_ms, jitter=jitter)
        case (
            Outcome.GATES_FAILED
            | Outcome.NO_CHANGES
            | Outcome.OVER_CEILING
            | Outcome.OVER_BUDGET
            | Outcome.CREDENTIAL
            | Outcome.CONFIGURATION
            | Outcome.BASE_BRANCH
        ):
            return Park(_PARKS[result.outcome], result.message, _hint(result))
        case _:
            assert_never(result.outcome)


def _again(ticket: Ticket, result: RunResult, *, rules: Rules, now_ms: int, jitter: float) -> Retry:
    wait_ms = backoff_ms(ticket.attempts, rules, jitter)
    return Retry(now_ms + wait_ms, result.message, _hint(result))


def _after_commit(
    ticket: Ticket, result: RunResult, *, rules: Rules, now_ms: int, jitter: float
) -> RunDecision:
    if result.head is None or result.base_sha is None:
        told = result.model_copy(update={"message": "the run says it committed, but names no commit or base"})
        return _again(ticket, told, rules=rules, now_ms=now_ms, jitter=jitter)
    missing = ungreen(result.gates, head=result.head)
    if missing:
        reason = f"the run says it passed, but its ledger holds no green verdict for: {', '.join(missing)}"
        return Park(WaitingFor.BREAKER, reason, "look at `autopilot show`, then resume or retry it")
    return Pass(result.head, result.base_sha)


def _after_question(ticket: Ticket, result: RunResult, rules: Rules) -> Park:
    if ticket.ask_rounds >= rules.max_ask_rounds:
        reason = f"it asks again after {ticket.ask_rounds} rounds of answers: {result.message}"
        hint = "say more in a new ticket, or answer once more"
        return Park(WaitingFor.MATURITY, reason, hint, result.questions)
    hint = result.hint or f"autopilot answer {ticket.id}"
    return Park(WaitingFor.QUESTIONS, result.message, hint, result.questions)


def _after_usage_limit(result: RunResult, *, now_ms: int, jitter: float) -> Release:
    resets_ms = clamped_reset_ms(result.resets_ms, now_ms, is_weekly="weekly" in result.code)
    not_before_ms = resets_ms + round(_USAGE_JITTER_MS * jitter)
    return Release(not_before_ms, result.message, f"the agent's usage window opens at {iso_utc(resets_ms)}")


def _hint(result: RunResult) -> str:
    if not result.denials:
        return result.hint
    refused = f"the agent was refused: {', '.join(result.denials)}"
    return f"{refused}. {result.hint}" if result.hint else f"{refused}; allow it or rewrite the ticket"


def _bounded_retry(ticket: Ticket, decision: Retry, rules: Rules) -> Retry | Park | Fail:
    if ticket.attempts >= rules.attempts_per_ticket:
        hint = decision.hint or f"autopilot logs {ticket.id} shows its last words"
        return Fail(f"{decision.reason} (attempt {ticket.attempts}, the last one)", hint)
    return _within_life(ticket, decision, rules)


def _bounded_release(ticket: Ticket, decision: Release, rules: Rules) -> Release | Park:
    if ticket.releases >= rules.releases_per_ticket:
        reason = f"given back {ticket.releases} times already; the last cause: {decision.reason}"
        return Park(WaitingFor.BREAKER, reason, decision.hint or "`autopilot retry` starts its count anew")
    return _within_life(ticket, decision, rules)


def _within_life(ticket: Ticket, decision: Again, rules: Rules) -> Again | Park:
    """Stop what would go round for ever: nothing but a person resets these two."""
    if ticket.sessions >= rules.sessions_per_ticket:
        reason = f"{ticket.sessions} runs in its life; the last cause: {decision.reason}"
        return Park(WaitingFor.BREAKER, reason, "raise sessions_per_ticket, then `autopilot retry` it")
    if ticket.tokens >= rules.tokens_per_ticket:
        reason = f"{ticket.tokens} tokens in its life; the last cause: {decision.reason}"
        return Park(WaitingFor.BUDGET, reason, "raise tokens_per_ticket, then `autopilot retry` it")
    return decision
