"""Ends an attempt: its money, its brakes, its gates and questions, all inside the move's transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, select, update

from autopilot.daemon import budget
from autopilot.daemon.breaker import Production
from autopilot.daemon.decide import Loss, production, tokens_of
from autopilot.daemon.store.brakes import judge_breakers, judge_window
from autopilot.daemon.store.mapping import to_attempt
from autopilot.daemon.store.prepared import Prepared
from autopilot.daemon.store.rows import AgentWindow
from autopilot.daemon.store.tables import ATTEMPTS, EXCHANGES, IS_LIVE_RUN
from autopilot.daemon.store.tables_host import GATES, LEDGER
from autopilot.daemon.windows import clamped_reset_ms
from autopilot.schemas.errors import StaleTransitionError
from autopilot.schemas.events import Event
from autopilot.schemas.ids import ticket_id
from autopilot.schemas.machine import Trigger
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autopilot.daemon.decide import RunReport
    from autopilot.daemon.rules import Rules
    from autopilot.daemon.store.rows import Attempt
    from autopilot.daemon.store.unit import Unit
    from autopilot.schemas.gate import GateRecord
    from autopilot.schemas.ticket import Ticket


# The columns to set are named by the parameters.
_IS_MINE = (
    ATTEMPTS.c.run_id == bindparam("seen_run_id"),
    ATTEMPTS.c.fence == bindparam("seen_fence"),
    ATTEMPTS.c.claim_token == bindparam("seen_claim_token"),
    IS_LIVE_RUN,
)
_LIVE_ATTEMPT = Prepared(
    lambda: select(ATTEMPTS).where(ATTEMPTS.c.ticket == bindparam("seen_ticket"), *_IS_MINE)
)
_FINISH = Prepared(lambda: update(ATTEMPTS).where(*_IS_MINE))
_SETTLE = Prepared(lambda: insert(LEDGER))
_KEEP_GATES = Prepared(lambda: insert(GATES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ended, and which move that makes."""

    report: RunReport
    trigger: Trigger
    not_before_ms: int = 0
    """When the ticket may be tried again, if at all."""

    @property
    def is_death(self) -> bool:
        """Tell whether the runner died on its own."""
        return isinstance(self.report, Loss) and self.report.cause == "died"


def end_attempt(unit: Unit, seen: Ticket, ending: Ending, rules: Rules) -> dict[str, Any]:
    """Settle the running attempt of a ticket.

    Returns:
        What is to be added to the ticket, as `moves.advance` takes it.

    Raises:
        StaleTransitionError: `report-old`: the report is of another run or another claim.
    """
    attempt = _live_attempt(unit, seen, ending.report)
    charge = _charge(attempt, ending.report)
    made = _production(ending)
    _finish(unit, attempt, ending, charge=charge, made=made)
    _SETTLE.run(
        unit.conn,
        {
            "run_id": attempt.run_id,
            "ticket": seen.short_id,
            "kind": "settled",
            "micro_usd": charge.micro_usd,
            "known": charge.known,
            "at_ms": unit.now_ms,
        },
    )
    unit.note(
        Event.BUDGET_SETTLED,
        level="info" if charge.known else "warning",
        run=attempt.run_id,
        cost_micro_usd=charge.micro_usd,
        known=charge.known,
    )
    judge_breakers(unit, attempt, made, rules)
    judge_window(
        unit, attempt, limited=_limited(unit, attempt, ending), says_nothing=_says_nothing(ending.report)
    )
    if not isinstance(ending.report, Loss):
        keep_gates(unit, seen.short_id, attempt.run_id, ending.report.gates)
    return {"add_spent_micro_usd": charge.micro_usd, "add_tokens": tokens_of(ending.report)}


def keep_gates(unit: Unit, short_id: int, run_id: str, records: Sequence[GateRecord]) -> None:
    """Append to the gate ledger."""
    rows = [
        {"ticket": short_id, "run_id": run_id, "head": record.head, "record": record.model_dump(mode="json")}
        for record in records
    ]
    _KEEP_GATES.run_many(unit.conn, rows)


def keep_questions(unit: Unit, seen: Ticket, questions: Sequence[str]) -> None:
    """Write down what the agent asks."""
    rows = [
        {"ticket": seen.short_id, "run_id": seen.run_id, "question": text, "asked_ms": unit.now_ms}
        for text in questions
    ]
    if rows:
        unit.conn.execute(insert(EXCHANGES), rows)


def keep_answers(unit: Unit, short_id: int, answers: Sequence[str]) -> int:
    """Write answers to the questions that are still open, oldest first.

    Returns:
        How many questions remain open.
    """
    still_open = select(EXCHANGES.c.id).where(EXCHANGES.c.ticket == short_id, EXCHANGES.c.answer.is_(None))
    numbers = unit.conn.execute(still_open.order_by(EXCHANGES.c.id)).scalars().all()
    for number, answer in zip(numbers, answers, strict=False):
        unit.conn.execute(
            update(EXCHANGES).where(EXCHANGES.c.id == number).values(answer=answer, answered_ms=unit.now_ms)
        )
        unit.note(Event.TICKET_ANSWERED, ticket=ticket_id(short_id))
    return max(0, len(numbers) - len(answers))


def _live_attempt(unit: Unit, seen: Ticket, report: RunReport) -> Attempt:
    asked = {
        "seen_run_id": report.run_id,
        "seen_fence": report.fence,
        "seen_ticket": seen.short_id,
        "seen_claim_token": seen.claim_token,
    }
    row = _LIVE_ATTEMPT.row(unit.conn, asked)
    if row is None:
        what = f"{report.run_id} (fence {report.fence}) is not the live run of {seen.id}"
        raise StaleTransitionError("report-old", what, hint="look again")
    return to_attempt(row)


def _charge(attempt: Attempt, report: RunReport) -> budget.Charge:
    reserved, recorded = attempt.reserved_micro_usd, attempt.spent_micro_usd
    if isinstance(report, Loss):
        has_run, recorded = report.cause != "never-started", max(recorded, report.told_micro_usd)
        return budget.charge(reserved=reserved, recorded=recorded, usage=None, has_run=has_run)
    return budget.charge(reserved=reserved, recorded=recorded, usage=report.usage)


def _production(ending: Ending) -> Production:
    """Classify the attempt; a run that the operator cancelled says nothing."""
    return Production(produced=None) if ending.trigger is Trigger.CANCEL else production(ending.report)


def _finish(unit: Unit, attempt: Attempt, ending: Ending, *, charge: budget.Charge, made: Production) -> None:
    report = ending.report
    if isinstance(report, Loss):
        told: dict[str, Any] = {"outcome": "lost", "code": f"run-{report.cause}", "message": report.reason}
    else:
        told = {
            "outcome": report.outcome.value,
            "code": report.code,
            "message": report.message,
            "head": report.head,
            "base_sha": report.base_sha,
        }
    _FINISH.run(
        unit.conn,
        {
            "seen_run_id": attempt.run_id,
            "seen_fence": attempt.fence,
            "seen_claim_token": attempt.claim_token,
            "state": "finished",
            "finished_ms": unit.now_ms,
            "spent_micro_usd": charge.micro_usd,
            "spend_known": charge.known,
            "tokens": tokens_of(report),
            "produced": made.produced,
            "failure_class": made.failure_class,
            "ended_by": ending.trigger.value,
            **told,
        },
    )


def _limited(unit: Unit, attempt: Attempt, ending: Ending) -> AgentWindow | None:
    report = ending.report
    if isinstance(report, Loss) or report.outcome is not Outcome.USAGE_LIMIT:
        return None
    told_ms = clamped_reset_ms(report.resets_ms, unit.now_ms, is_weekly="weekly" in report.code)
    resets_ms = max(told_ms, ending.not_before_ms)
    return AgentWindow(
        agent=attempt.agent,
        since_ms=unit.now_ms,
        resets_ms=resets_ms,
        reason=report.message,
        probe_run_id=None,
    )


def _says_nothing(report: RunReport) -> bool:
    return isinstance(report, Loss) or report.outcome in {Outcome.STOPPED, Outcome.INFRASTRUCTURE}
