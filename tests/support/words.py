"""Tickets and results that never saw a database, for tests of the pure rules."""

from __future__ import annotations

from autopilot.schemas.gate import MANDATORY_GATES, GateRecord, Verdict
from autopilot.schemas.machine import State
from autopilot.schemas.run import Outcome, RunResult, Usage
from autopilot.schemas.ticket import Ticket

BASE = "b" * 40
HEAD = "a" * 40
USD = 1_000_000
AGENT = "scripted"
REPO = "shop"


def gates(head: str = HEAD, verdict: Verdict = Verdict.PASSED) -> tuple[GateRecord, ...]:
    """A gate ledger in which every mandatory gate has this verdict."""
    return tuple(
        GateRecord(
            gate=name, verdict=verdict, mandatory=True, head=head, base=BASE, started_ms=1, duration_ms=1
        )
        for name in MANDATORY_GATES
    )


def ticket(state: State = State.RUNNING, **fields: object) -> Ticket:
    """A ticket as a rule sees it."""
    values: dict[str, object] = {
        "id": "T-1",
        "short_id": 1,
        "state": state,
        "title": "Fix the sum",
        "body": "",
        "repo": REPO,
        "base": None,
        "priority": 2,
        "agent": None,
        "source_key": None,
        "branch": "autopilot/t-1-fix-the-sum",
        "created_ms": 1,
        "updated_ms": 1,
    }
    return Ticket.model_validate(values | fields)


def result(outcome: Outcome = Outcome.COMMITTED, **fields: object) -> RunResult:
    """A run's result; a committed one is green."""
    is_green = outcome is Outcome.COMMITTED
    values: dict[str, object] = {
        "run_id": "T-1-a1-00000000",
        "ticket_id": "T-1",
        "attempt": 1,
        "fence": 1,
        "outcome": outcome,
        "code": outcome.value,
        "message": f"it ended as {outcome.value}",
        "branch": "autopilot/t-1-fix-the-sum",
        "base_sha": BASE,
        "head": HEAD if is_green else None,
        "gates": gates() if is_green else (),
        "usage": Usage(cost_micro_usd=USD, known=True),
        "started_ms": 1,
        "finished_ms": 1,
    }
    return RunResult.model_validate(values | fields)
