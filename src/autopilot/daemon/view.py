"""What the operator sees: the whole machine in one value, and why one ticket is where it is.

Must not change anything. Everything returned can become JSON.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, assert_never

from autopilot.config.paths import EVENTS_FILE
from autopilot.config.proc import ProcessId, is_alive
from autopilot.daemon import agenda, arming, demand, remains
from autopilot.daemon.launching import must_stop_running
from autopilot.daemon.rules import rules_of
from autopilot.daemon.starts import failed_starts
from autopilot.daemon.store import deliveries, nights, queries_host, queries_runs, queries_tickets
from autopilot.daemon.store.mapping import unknown
from autopilot.schemas.ids import canonical
from autopilot.schemas.machine import State
from autopilot.schemas.units import local_time

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from autopilot.daemon.desk import Answer, Desk
    from autopilot.daemon.store.rows import LivePublication, LiveRun
    from autopilot.schemas.ticket import Ticket

_DAY_MS = 24 * 3600 * 1000


def status(desk: Desk) -> Answer:
    """Give the switch, what runs, what waits for a person, what is held, and the money."""
    now_ms, failed = desk.clock.now_ms(), failed_starts(desk.paths)
    with desk.store.read() as conn:
        parked = queries_tickets.tickets(conn, states=[State.PARKED])
        return {
            "now_ms": now_ms,
            "switch": asdict(queries_host.switch(conn)),
            "counts": {str(state): number for state, number in queries_tickets.counts(conn).items()},
            "running": [_run(desk, live) for live in queries_runs.running(conn)],
            "publishing": [_publication(live) for live in queries_runs.publishing(conn)],
            "parked": [ticket.model_dump(mode="json") for ticket in parked],
            "holds": [hold.model_dump(mode="json") for hold in queries_host.holds(conn)],
            "stray_drafts": [
                {"ticket": ticket.model_dump(mode="json"), "url": draft.pr_url, "branch": draft.branch}
                for ticket, draft in queries_runs.stray_drafts(conn)
            ],
            "breakers": [asdict(breaker) for breaker in queries_host.breakers(conn)],
            "agent_windows": [asdict(window) for window in queries_host.agent_windows(conn)],
            "money": _money(desk, conn, now_ms),
            "upcoming": [asdict(each) for each in agenda.ahead(conn, desk.settings, now_ms)],
            "schedules": [
                {**asdict(last), "is_stale": agenda.is_stale(last, now_ms)} for last in nights.schedules(conn)
            ],
            "sleeps": [asdict(each) for each in nights.sleeps(conn, now_ms - _DAY_MS)],
            "awake_locks": [asdict(each) for each in nights.locks(conn)],
            "deliveries": [one.shown() for one in deliveries.untold(conn, now_ms - _DAY_MS)],
            "failed_starts": None if failed is None else failed.model_dump(mode="json"),
            "forced": [line.model_dump(mode="json") for line in arming.forced(desk.paths)],
            "daemon": None,
        }


def why(desk: Desk, ticket: str) -> Answer:
    """Name every hold of a ticket, as of now, and what moves it on.

    Raises:
        TicketError: there is no such ticket.
    """
    name = canonical(ticket)
    with desk.store.read() as conn:
        seen = queries_tickets.ticket(conn, name)
        if seen is None:
            raise unknown(name)
        holds = demand.holds_of(desk, conn, seen) if seen.state is State.QUEUED else ()
        fate = queries_runs.fate_of(conn, name) if seen.state is State.PUBLISHED else None
        waits = _publication_waits(desk, conn, seen) if seen.state is State.COMMITTED else ""
    return {
        "ticket": seen.model_dump(mode="json"),
        "holds": [hold.model_dump(mode="json") for hold in holds],
        "saved_work": remains.saved_work(desk.paths, name),
        "next": f"nothing: its pull request is {fate}"
        if fate
        else waits or next_step(seen, is_held=bool(holds)),
    }


def _publication_waits(desk: Desk, conn: Connection, seen: Ticket) -> str:
    """Say what a commit waits for until it is published; empty where it is next."""
    now_ms = desk.clock.now_ms()
    if must_stop_running(queries_host.switch(conn), now_ms):
        return "it is published once the switch is on again: autopilot on"
    if seen.not_before_ms > now_ms:
        again = local_time(seen.not_before_ms, demand.zone_of(desk.settings))
        return f"its publication is tried again {again}"
    return ""


def _run(desk: Desk, live: LiveRun) -> Answer:
    attempt = live.attempt
    journal = desk.paths.run_dir(attempt.run_id) / EVENTS_FILE
    return {
        "ticket": live.ticket.model_dump(mode="json"),
        "run_id": attempt.run_id,
        "agent": attempt.agent,
        "started_ms": attempt.started_ms,
        "last_activity_ms": _modified_ms(journal),
        "spent_micro_usd": attempt.spent_micro_usd,
        "reserved_micro_usd": attempt.reserved_micro_usd,
        "is_alive": attempt.process is not None and is_alive(ProcessId(*attempt.process)),
    }


def _publication(live: LivePublication) -> Answer:
    return {
        "ticket": live.ticket.model_dump(mode="json"),
        "publication_id": live.publication.id,
        "started_ms": live.publication.started_ms,
    }


def _money(desk: Desk, conn: Connection, now_ms: int) -> Answer:
    spending = queries_host.spending(conn, now_ms)
    return {**asdict(spending), "ceiling_micro_usd": rules_of(desk.settings).cost_ceiling_micro_usd}


def _modified_ms(path: Path) -> int | None:
    try:
        return path.lstat().st_mtime_ns // 1_000_000
    except OSError:
        return None


def next_step(ticket: Ticket, *, is_held: bool) -> str:
    """Say what moves a ticket on, by the state it rests in."""
    match ticket.state:
        case State.QUEUED if is_held:
            return "it starts when no hold is left"
        case State.QUEUED:
            return "it starts at the next tick of a running daemon"
        case State.RUNNING:
            return "its run ends; autopilot logs shows how far it is"
        case State.COMMITTED:
            return "its commit is published at the next tick of a running daemon"
        case State.PUBLISHING:
            return "its publisher ends"
        case State.PARKED:
            return ticket.hint or f"autopilot resume {ticket.id}"
        case State.FAILED if ticket.hint:
            return f"{ticket.hint}; then autopilot retry {ticket.id}"
        case State.FAILED | State.CANCELLED:
            return f"autopilot retry {ticket.id}"
        case State.PUBLISHED:
            return "a person reviews its pull request"
        case _:
            assert_never(ticket.state)
