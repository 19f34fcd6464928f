"""The only writer of ticket state: one function per trigger of the queue and the run.

Each takes the ticket as it was seen and in one transaction looks the move up, updates it only if it still is
so, adds the row of history and what belongs to it (money, brakes, questions), and logs after the commit. The
triggers of publishing are in `transitions_publish.py`. Must not decide anything: see `decide.py`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, assert_never

from autopilot.daemon.store import steps
from autopilot.daemon.store.claims import RefusedClaim, begin_probes, check_brakes, start_attempt
from autopilot.daemon.store.enqueue import insert_ticket
from autopilot.daemon.store.moves import advance
from autopilot.daemon.store.rows import Claim, ClaimRefused, Enqueued
from autopilot.daemon.store.settle import Ending, end_attempt, keep_answers, keep_questions
from autopilot.daemon.store.unit import Unit, in_one
from autopilot.schemas.decision import Cancel, Fail, Park, Pass, Release, Retry
from autopilot.schemas.errors import InvariantError, StaleTransitionError
from autopilot.schemas.events import Event
from autopilot.schemas.ids import run_id as name_run
from autopilot.schemas.machine import Trigger

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from autopilot.daemon.decide import RunReport
    from autopilot.daemon.rules import Rules
    from autopilot.daemon.store.claims import Brakes
    from autopilot.daemon.store.engine import Store
    from autopilot.schemas.decision import RunDecision
    from autopilot.schemas.ticket import Ticket, TicketDraft

DAEMON = "daemon"
CLOCK_SET = "clock-set"
"""Why a claim is refused: a day's sums are wrong until the step is written down."""
_ANEW: Mapping[str, Any] = MappingProxyType({"not_before_ms": 0, "head": None, "reason": "", "hint": ""})
_PERSONS_RESET: Mapping[str, int] = MappingProxyType(
    {"attempts": 0, "releases": 0, "losses": 0, "ask_rounds": 0}
)


def enqueue(store: Store, draft: TicketDraft, *, repo: str, by: str = "operator") -> Enqueued:
    """Put an order into the queue; the same source key twice is one ticket.

    Args:
        store: the store.
        draft: what is asked for.
        repo: the configured repository it is for.
        by: who asks.

    Raises:
        TicketError: `dependency-unknown`: it waits for a ticket that is not there.
    """
    return in_one(store, lambda unit: insert_ticket(unit, draft, repo=repo, by=by))


def claim(
    store: Store, seen: Ticket, *, agent: str, rules: Rules, account: Sequence[str] = ()
) -> Claim | ClaimRefused:
    """Take a queued ticket for one run and reserve its money.

    The attempt is counted before any work begins, so that no crash can make it free.

    Args:
        store: the store.
        seen: the ticket as it was seen.
        agent: the configured agent that will run it.
        rules: the limits that must hold at this moment, and the reservation.
        account: the agents that sign in as this one does.

    Raises:
        StaleTransitionError: it changed since it was seen, or the clock was set in this very moment.
    """

    def work(unit: Unit) -> Claim:
        if steps.is_off(unit.conn, store.clock):
            raise StaleTransitionError(CLOCK_SET, "the clock was set: what was spent cannot be told yet")
        brakes = check_brakes(unit, seen, agent, account)
        return _claim(unit, seen, brakes, agent=agent, rules=rules)

    try:
        return in_one(store, work)
    except RefusedClaim as refused:
        return refused.value


def _claim(unit: Unit, seen: Ticket, brakes: Brakes, *, agent: str, rules: Rules) -> Claim:
    run_id = name_run(seen.id, seen.attempts + 1, unit.entropy.token(4))
    counted: dict[str, Any] = {
        "attempts": seen.attempts + 1,
        "sessions": seen.sessions + 1,
        "fence": seen.fence + 1,
        "claim_token": unit.entropy.token(16),
    }
    changes = counted | {"run_id": run_id, "head": None, "not_before_ms": 0, "reason": "", "hint": ""}
    ticket = advance(unit, seen, Trigger.CLAIM, changes, by=DAEMON, reason="", run_id=run_id)
    values = {
        "run_id": run_id,
        "ticket": seen.short_id,
        "no": ticket.attempts,
        "session": ticket.sessions,
        "agent": agent,
        "repo": ticket.repo,
        "fence": ticket.fence,
        "claim_token": ticket.claim_token,
        "state": "running",
        "started_ms": unit.now_ms,
        "lease_until_ms": unit.now_ms + rules.lease_ms,
        "reserved_micro_usd": rules.run_ceiling_micro_usd,
        "is_probe": brakes != ((), None),
    }
    attempt = start_attempt(unit, values, rules)
    begin_probes(unit, brakes, run_id)
    unit.note(Event.TICKET_CLAIMED, ticket=ticket.id, run=run_id, agent=agent)
    return Claim(ticket, attempt)


def apply_run(
    store: Store, seen: Ticket, report: RunReport, decision: RunDecision, *, rules: Rules
) -> Ticket:
    """Carry out what `decide.after_run` decided about a running ticket.

    Raises:
        StaleTransitionError: the ticket changed since it was seen, or the report is of another run.
    """
    match decision:
        case Pass():
            return pass_(store, seen, report, decision, rules=rules)
        case Retry():
            return retry(store, seen, report, decision, rules=rules)
        case Release():
            return release(store, seen, report, decision, rules=rules)
        case Park():
            return park(store, seen, decision, report=report, rules=rules)
        case Fail():
            return fail(store, seen, report, decision, rules=rules)
        case Cancel():
            return cancel(store, seen, decision, report=report, rules=rules)
        case _:
            assert_never(decision)


def pass_(store: Store, seen: Ticket, report: RunReport, decision: Pass, *, rules: Rules) -> Ticket:
    """Rest a ticket as committed: its commit passed the run's gates."""
    changes = {"head": decision.head, "reason": "", "hint": "", "not_before_ms": 0, "losses": 0}
    return _end(store, seen, Ending(report=report, trigger=Trigger.PASS), changes, rules=rules)


def retry(store: Store, seen: Ticket, report: RunReport, decision: Retry, *, rules: Rules) -> Ticket:
    """Queue a ticket again; the attempt is used."""
    ending = Ending(report=report, trigger=Trigger.RETRY, not_before_ms=decision.not_before_ms)
    return _end(store, seen, ending, _later(decision), rules=rules)


def release(store: Store, seen: Ticket, report: RunReport, decision: Release, *, rules: Rules) -> Ticket:
    """Queue a ticket again through no fault of its own: the attempt is given back, the release is counted."""
    ending = Ending(report=report, trigger=Trigger.RELEASE, not_before_ms=decision.not_before_ms)
    changes = _later(decision) | {
        "attempts": max(0, seen.attempts - 1),
        "releases": seen.releases + 1,
        "losses": seen.losses + ending.is_death,
    }
    return _end(store, seen, ending, changes, rules=rules)


def park(
    store: Store, seen: Ticket, decision: Park, *, report: RunReport | None = None, rules: Rules | None = None
) -> Ticket:
    """Lay a ticket aside until a person acts. A running one needs the report of its run and the rules."""

    def work(unit: Unit) -> Ticket:
        ending = None if report is None else Ending(report=report, trigger=Trigger.PARK)
        changes: dict[str, Any] = {
            "waiting_for": decision.waiting_for.value,
            "reason": decision.reason,
            "hint": decision.hint,
            "ask_rounds": seen.ask_rounds + bool(decision.questions),
            "losses": seen.losses + (ending is not None and ending.is_death),
        }
        changes |= _settled(unit, seen, ending, rules)
        keep_questions(unit, seen, decision.questions)
        reason = f"{decision.waiting_for.value}: {decision.reason}"
        return advance(unit, seen, Trigger.PARK, changes, by=DAEMON, reason=reason, run_id=seen.run_id)

    return in_one(store, work)


def fail(store: Store, seen: Ticket, report: RunReport, decision: Fail, *, rules: Rules) -> Ticket:
    """End a ticket: its attempts are used up, or it can never work."""
    changes = {"reason": decision.reason, "hint": decision.hint}
    return _end(store, seen, Ending(report=report, trigger=Trigger.FAIL), changes, rules=rules)


def cancel(
    store: Store,
    seen: Ticket,
    decision: Cancel,
    *,
    report: RunReport | None = None,
    rules: Rules | None = None,
    by: str = DAEMON,
) -> Ticket:
    """End a ticket because the operator said so. A running one needs the report of its run and the rules."""

    def work(unit: Unit) -> Ticket:
        ending = None if report is None else Ending(report=report, trigger=Trigger.CANCEL)
        changes = {"reason": decision.reason, "hint": ""} | _settled(unit, seen, ending, rules)
        return advance(unit, seen, Trigger.CANCEL, changes, by=by, reason=decision.reason, run_id=seen.run_id)

    return in_one(store, work)


def resume_run(
    store: Store, seen: Ticket, *, by: str, answers: Sequence[str] = (), reset: bool = False
) -> Ticket:
    """Queue a parked ticket again because a person acted.

    Args:
        store: the store.
        seen: the ticket as it was seen.
        by: who acted.
        answers: to its open questions, oldest first.
        reset: whether attempts, releases and rounds of questions start anew. Sessions and spend never do.
    """

    def work(unit: Unit) -> Ticket:
        keep_answers(unit, seen.short_id, answers)
        changes = {**_ANEW, "losses": 0, **(_PERSONS_RESET if reset else {})}
        reason = "answered" if answers else "resumed"
        return advance(unit, seen, Trigger.RESUME_RUN, changes, by=by, reason=reason)

    return in_one(store, work)


def requeue(store: Store, seen: Ticket, *, by: str) -> Ticket:
    """Queue a failed or cancelled ticket again because a person wants it. Sessions and spend stay."""

    def work(unit: Unit) -> Ticket:
        return advance(unit, seen, Trigger.REQUEUE, {**_ANEW, **_PERSONS_RESET}, by=by, reason="requeued")

    return in_one(store, work)


def _later(decision: Retry | Release) -> dict[str, Any]:
    return {"not_before_ms": decision.not_before_ms, "reason": decision.reason, "hint": decision.hint}


def _end(store: Store, seen: Ticket, ending: Ending, changes: dict[str, Any], *, rules: Rules) -> Ticket:
    def work(unit: Unit) -> Ticket:
        settled = _settled(unit, seen, ending, rules)
        reason = str(changes.get("reason", ""))
        return advance(
            unit, seen, ending.trigger, changes | settled, by=DAEMON, reason=reason, run_id=seen.run_id
        )

    return in_one(store, work)


def _settled(unit: Unit, seen: Ticket, ending: Ending | None, rules: Rules | None) -> dict[str, Any]:
    """End the attempt of a running ticket; a ticket that is not running has none."""
    if ending is None and seen.claim_token is None:
        return {}
    if ending is None or rules is None:
        raise InvariantError("report-missing", f"{seen.id} is {seen.state.value}: its run must be settled")
    return end_attempt(unit, seen, ending, rules)
