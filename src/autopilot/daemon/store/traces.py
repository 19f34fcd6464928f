"""What runs and publications left on this machine that a restored or new database does not know: written in.

Money that is gone stays gone and is counted against its ceilings; a commit that may have been pushed is known
to be ours. Works on any schema, with the columns that every schema has. Must not move a ticket that is there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.schemas.machine import State, Trigger

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from autopilot.schemas.publication import PublishSpec
    from autopilot.schemas.run import RunSpec


@dataclass(frozen=True, slots=True)
class Occasion:
    """Why a database does not know what this machine did."""

    by: str
    code: str
    when: str


RESTORE = Occasion("restore", "restored", "after the backup that was restored")
SET_ASIDE = Occasion("set-aside", "given-up", "in the queue that was given up")


@dataclass(frozen=True, slots=True)
class RunTrace:
    """A run's folder: what it was to do, and what it is charged."""

    spec: RunSpec
    micro_usd: int
    is_known: bool
    finished_ms: int
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Traces:
    """Everything found, the oldest first."""

    runs: tuple[RunTrace, ...] = ()
    publications: tuple[PublishSpec, ...] = ()
    last_number: int = 0
    """The highest ticket number that left anything behind."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What the restored queue was told that it did not know."""

    runs: tuple[str, ...] = ()
    micro_usd: int = 0
    tickets: tuple[int, ...] = ()
    """Numbers of tickets that had run and were not in the backup; they are there again, cancelled."""


def carry(raw: sqlite3.Connection, traces: Traces, occasion: Occasion, *, now_ms: int) -> Carried:
    """Enter what is not there yet, inside the caller's transaction."""
    unknown = [trace for trace in traces.runs if not _has_run(raw, trace.spec.run_id)]
    tickets = tuple(dict.fromkeys(_numbers_without_ticket(raw, unknown)))
    for trace in unknown:
        if not _has_ticket(raw, trace.spec.short_id):
            _add_ticket(raw, trace.spec, occasion, now_ms)
        _add_run(raw, trace, occasion)
    for spec in traces.publications:
        _add_publication(raw, spec, occasion, now_ms)
    spent = sum(trace.micro_usd for trace in unknown)
    return Carried(tuple(trace.spec.run_id for trace in unknown), spent, tickets)


def _numbers_without_ticket(raw: sqlite3.Connection, runs: Iterable[RunTrace]) -> list[int]:
    return [trace.spec.short_id for trace in runs if not _has_ticket(raw, trace.spec.short_id)]


def _has_run(raw: sqlite3.Connection, run_id: str) -> bool:
    return raw.execute("SELECT 1 FROM attempts WHERE run_id = ?", (run_id,)).fetchone() is not None


def _has_ticket(raw: sqlite3.Connection, number: int) -> bool:
    return raw.execute("SELECT 1 FROM tickets WHERE short_id = ?", (number,)).fetchone() is not None


def _add_ticket(raw: sqlite3.Connection, spec: RunSpec, occasion: Occasion, now_ms: int) -> None:
    """Bring a ticket back from what its run was told; cancelled, for nobody knows where it stood."""
    reason = f"it was added {occasion.when}"
    raw.execute(
        "INSERT INTO tickets (short_id, state, title, body, acceptance, repo, base, priority, agent, branch,"
        " created_ms, updated_ms, reason, hint, fence) VALUES (?,?,?,?,?,?,?,2,?,?,?,?,?,?,?)",
        (
            *(spec.short_id, State.CANCELLED.value, spec.title, spec.body, json.dumps(spec.acceptance)),
            *(spec.repo.name, spec.repo.base, spec.agent.name, spec.branch, spec.created_ms, now_ms),
            *(reason, f"autopilot retry {spec.ticket_id} queues it again", spec.fence),
        ),
    )
    moves = (
        (Trigger.ENQUEUE.value, None, State.QUEUED.value),
        (Trigger.CANCEL.value, State.QUEUED.value, State.CANCELLED.value),
    )
    raw.executemany(
        "INSERT INTO history (ticket, trigger, from_state, to_state, at_ms, by, reason)"
        " VALUES (?,?,?,?,?,?,?)",
        [(spec.short_id, *move, now_ms, occasion.by, reason) for move in moves],
    )


def _add_run(raw: sqlite3.Connection, trace: RunTrace, occasion: Occasion) -> None:
    spec, money = trace.spec, trace.micro_usd
    reserved = spec.limits.run_ceiling_micro_usd
    raw.execute(
        "INSERT INTO attempts (run_id, ticket, no, session, agent, repo, fence, claim_token, state,"
        " started_ms, finished_ms, code, message, reserved_micro_usd, spent_micro_usd, spend_known, is_probe)"
        " SELECT ?, short_id, ?, sessions + 1, ?, ?, ?, ?, 'finished', ?, ?, ?, ?, ?, ?, ?, 0"
        " FROM tickets WHERE short_id = ?",
        (
            *(spec.run_id, spec.attempt, spec.agent.name, spec.repo.name, spec.fence, occasion.by),
            *(spec.created_ms, trace.finished_ms, occasion.code, f"it ran {occasion.when}", reserved, money),
            *(trace.is_known, spec.short_id),
        ),
    )
    raw.executemany(
        "INSERT INTO ledger (run_id, ticket, kind, micro_usd, known, at_ms) VALUES (?,?,?,?,?,?)",
        [
            (spec.run_id, spec.short_id, "reserved", reserved, 1, spec.created_ms),
            (spec.run_id, spec.short_id, "settled", money, trace.is_known, trace.finished_ms),
        ],
    )
    raw.execute(
        "UPDATE tickets SET sessions = sessions + 1, spent_micro_usd = spent_micro_usd + ?,"
        " fence = CASE WHEN state IN ('running', 'publishing') THEN fence ELSE max(fence, ?) END"
        " WHERE short_id = ?",
        (money, spec.fence, spec.short_id),
    )
    if "tokens" in {row[1] for row in raw.execute("PRAGMA table_info(tickets)")}:  # since schema 0002
        raw.execute("UPDATE attempts SET tokens = ? WHERE run_id = ?", (trace.tokens, spec.run_id))
        raw.execute(
            "UPDATE tickets SET tokens = tokens + ? WHERE short_id = ?", (trace.tokens, spec.short_id)
        )


def _add_publication(raw: sqlite3.Connection, spec: PublishSpec, occasion: Occasion, now_ms: int) -> None:
    """Enter a publication that may have pushed; another ticket's of the same number is left out."""
    raw.execute(
        "INSERT OR IGNORE INTO publications (id, ticket, run_id, state, repo, base, base_sha, branch, head,"
        " idempotency_key, tries, code, message, created_ms, started_ms, finished_ms)"
        " SELECT ?, short_id, ?, 'refused', repo, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ? FROM tickets"
        " WHERE short_id = ? AND branch = ?",
        (
            *(spec.id, spec.run_id, spec.base, spec.base_sha, spec.branch, spec.head, spec.idempotency_key),
            *(occasion.code, f"it was begun {occasion.when}", spec.created_ms, spec.created_ms),
            *(now_ms, _number(spec.ticket_id), spec.branch),
        ),
    )


def _number(ticket: str) -> int:
    return int(ticket.removeprefix("T-"))
