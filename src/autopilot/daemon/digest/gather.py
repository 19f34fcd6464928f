"""Reads the night out of the store and writes the digest's file.

Must not judge: what a ticket waits for, and every hold, was decided elsewhere.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from autopilot.config.atomic import write_atomically
from autopilot.daemon.digest import render
from autopilot.daemon.digest.night import Draft, Money, Night, sort_tickets
from autopilot.daemon.store import queries_host, queries_runs, queries_tickets
from autopilot.schemas.machine import State
from autopilot.schemas.units import iso_utc, micro_usd

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.config.settings import Settings
    from autopilot.daemon.store.engine import Store
    from autopilot.schemas.ticket import Ticket

DAY_MS = 24 * 3600 * 1000


def write(store: Store, paths: Paths, settings: Settings, clock: Clock) -> Path:
    """Write the digest of the last 24 hours below the state folder; an older one of the day is replaced.

    Returns:
        The Markdown file; the same night lies beside it as JSON.
    """
    now_ms = clock.now_ms()
    told = night(store, paths, settings, clock=clock, since_ms=now_ms - DAY_MS)
    target = paths.digests / f"{iso_utc(now_ms)[:10]}.md"
    as_json = json.dumps(render.as_json(told), indent=2, sort_keys=True, ensure_ascii=False)
    write_atomically(target.with_suffix(".json"), as_json.encode())
    write_atomically(target, render.markdown(told).encode())
    return target


def night(store: Store, paths: Paths, settings: Settings, *, clock: Clock, since_ms: int) -> Night:
    """Read everything the digest says, in one snapshot of the queue."""
    now_ms = clock.now_ms()
    with store.read() as conn:
        sorted_by = sort_tickets(queries_tickets.tickets(conn), since_ms=since_ms)
        spending = queries_host.spending(conn, now_ms)
        return Night(
            since_ms=since_ms,
            until_ms=now_ms,
            is_on=queries_host.switch(conn).is_on,
            parked=sorted_by[State.PARKED],
            drafts=tuple(_draft(conn, paths, ticket) for ticket in sorted_by[State.PUBLISHED]),
            failed=sorted_by[State.FAILED],
            cancelled=sorted_by[State.CANCELLED],
            waiting=sorted_by[State.QUEUED],
            working=sorted_by[State.RUNNING] + sorted_by[State.COMMITTED] + sorted_by[State.PUBLISHING],
            holds=queries_host.holds(conn),
            money=Money(
                spent_micro_usd=spending.settled_micro_usd,
                reserved_micro_usd=spending.reserved_micro_usd,
                ceiling_micro_usd=micro_usd(settings.cost_ceiling_usd),
                has_unknown=spending.unknown_runs > 0,
            ),
            open_questions={
                ticket.id: tuple(
                    asked.question
                    for asked in queries_tickets.exchanges(conn, ticket.id)
                    if asked.answer is None
                )
                for ticket in sorted_by[State.PARKED]
            },
        )


def _draft(conn: Connection, paths: Paths, ticket: Ticket) -> Draft:
    gates = queries_runs.gates_of(conn, ticket.id, head=ticket.head)
    fate = queries_runs.fate_of(conn, ticket.id)
    counts = [record.counts.executed for record in gates if record.counts is not None]
    return Draft(
        ticket=ticket,
        url=ticket.pr_url,
        changed_files=_changed_files(paths, ticket),
        tests_executed=counts[-1] if counts else None,
        notes=(ticket.reason,) if ticket.reason and fate is None else (),
        fate=fate,
    )


def _changed_files(paths: Paths, ticket: Ticket) -> int | None:
    """Count the request's scope lines; a request that is gone or unreadable costs only this number."""
    try:
        request = json.loads((paths.pr_requests / f"{ticket.run_id}.json").read_bytes())
        return len(request["scope_check"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
