"""Reads the night out of the store and writes the digest's file.

Must not judge: what a ticket waits for, and every hold, was decided elsewhere.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from autopilot.config.atomic import write_atomically
from autopilot.daemon import agenda, arming, demand
from autopilot.daemon.desk import Desk
from autopilot.daemon.digest import held, render
from autopilot.daemon.digest.night import Draft, Money, Night, sort_tickets
from autopilot.daemon.digest.render import MAX_WAITING
from autopilot.daemon.gc.report import last_count
from autopilot.daemon.launching import must_stop_running
from autopilot.daemon.phase_spend import added_up, of_run
from autopilot.daemon.results import result_of, sandbox_of
from autopilot.daemon.store import (
    deliveries,
    nights,
    past_holds,
    queries_host,
    queries_runs,
    queries_tickets,
)
from autopilot.schemas.machine import State
from autopilot.schemas.units import MS_PER_S, micro_usd

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sqlalchemy import Connection

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.config.settings import Settings
    from autopilot.daemon.store.engine import Store
    from autopilot.daemon.trouble import Trouble
    from autopilot.schemas.blocked import Blocked
    from autopilot.schemas.cell import OpenedKind
    from autopilot.schemas.checkup import Check
    from autopilot.schemas.ticket import Ticket

DAY_MS = 24 * 3600 * 1000


def write(
    store: Store, paths: Paths, settings: Settings, clock: Clock, *, trouble: Trouble | None = None
) -> Path:
    """Write the digest of the last 24 hours below the state folder; an older one of the day is replaced.

    Args:
        store: the queue.
        paths: where everything is.
        settings: the configuration.
        clock: the time.
        trouble: what keeps the daemon's ticks from ending well.

    Returns:
        The Markdown file; the same night lies beside it as JSON.
    """
    now_ms = clock.now_ms()
    told = night(Desk(store, settings, paths, clock), since_ms=now_ms - DAY_MS, trouble=trouble)
    day = datetime.fromtimestamp(now_ms / MS_PER_S, tz=UTC).astimezone(told.zone)
    target = paths.digests / f"{day:%Y-%m-%d}.md"
    as_json = json.dumps(render.as_json(told), indent=2, sort_keys=True, ensure_ascii=False)
    write_atomically(target.with_suffix(".json"), as_json.encode())
    write_atomically(target, render.markdown(told).encode())
    return target


def night(desk: Desk, *, since_ms: int, trouble: Trouble | None = None, is_served: bool = True) -> Night:
    """Read everything the digest says, in one snapshot of the queue; `is_served`: a daemon runs."""
    now_ms = desk.clock.now_ms()
    with desk.store.read() as conn:
        is_lately = since_ms >= now_ms - 2 * DAY_MS  # further back, moves may be cleared away
        found = queries_tickets.of_night(conn, since_ms) if is_lately else queries_tickets.tickets(conn)
        sorted_by = sort_tickets(found, since_ms=since_ms)
        return Night(
            since_ms=since_ms,
            until_ms=now_ms,
            is_on=queries_host.switch(conn).may_launch(now_ms),
            parked=sorted_by[State.PARKED],
            drafts=tuple(_draft(conn, desk.paths, ticket) for ticket in sorted_by[State.PUBLISHED]),
            failed=sorted_by[State.FAILED],
            cancelled=sorted_by[State.CANCELLED],
            waiting=sorted_by[State.QUEUED],
            working=sorted_by[State.RUNNING] + sorted_by[State.COMMITTED] + sorted_by[State.PUBLISHING],
            holds=queries_host.holds(conn),
            past_holds=held.merged(past_holds.since(conn, since_ms), since_ms),
            money=_money(conn, desk, now_ms),
            zone=demand.zone_of(desk.settings),
            disk=last_count(desk.paths.reports, now_ms),
            open_questions={ticket.id: _asked(conn, ticket) for ticket in sorted_by[State.PARKED]},
            held_by={
                ticket.id: tuple(hold.name for hold in demand.holds_of(desk, conn, ticket))
                for ticket in sorted_by[State.QUEUED][:MAX_WAITING]
            },
            blocked=_blocked(conn, desk.paths, now_ms),
            strays=tuple(
                (ticket, draft.pr_url or draft.branch) for ticket, draft in queries_runs.stray_drafts(conn)
            ),
            trouble=trouble,
            is_served=is_served,
            is_publishing=not must_stop_running(queries_host.switch(conn), now_ms),
            forced=_forced(desk, since_ms=since_ms, is_on=queries_host.switch(conn).is_on),
            sandbox=desk.settings.sandbox.kind,
            sandboxes=_sandboxes(conn, desk.paths, now_ms, sorted_by),
            sleeps=nights.sleeps(conn, since_ms),
            locks=nights.locks(conn),
            troubled=agenda.troubled(conn, now_ms),
            deliveries=deliveries.untold(conn, since_ms),
        )


def _forced(desk: Desk, *, since_ms: int, is_on: bool) -> tuple[Check, ...]:
    """Give what was overruled for this night: the switch is on still, or was turned on in it."""
    found = arming.last(desk.paths)
    return found.forced if found is not None and (is_on or found.armed_ms >= since_ms) else ()


def _money(conn: Connection, desk: Desk, now_ms: int) -> Money:
    spending = queries_host.spending(conn, now_ms)
    return Money(
        spent_micro_usd=spending.settled_micro_usd,
        reserved_micro_usd=spending.reserved_micro_usd,
        ceiling_micro_usd=micro_usd(desk.settings.cost_ceiling_usd),
        has_unknown=spending.unknown_runs > 0,
        phases=added_up(
            spend
            for ticket, run_id in queries_host.ended_lately(conn, now_ms)
            for spend in of_run(desk.paths, ticket, run_id)
        ),
    )


def _blocked(conn: Connection, paths: Paths, now_ms: int) -> dict[str, tuple[Blocked, ...]]:
    """Give what the runs of the last 24 hours tried in vain, by ticket."""
    told: dict[str, tuple[Blocked, ...]] = {}
    for ticket, run_id in queries_host.ended_lately(conn, now_ms):
        result = result_of(paths, ticket, run_id)
        if result is not None and result.blocked:
            told[ticket] = (*told.get(ticket, ()), *result.blocked)
    return told


def _sandboxes(
    conn: Connection, paths: Paths, now_ms: int, sorted_by: Mapping[State, tuple[Ticket, ...]]
) -> dict[OpenedKind | None, tuple[str, ...]]:
    """Give what the runs had; of one that left no draft and told nothing, nothing is said."""
    drafts, working = (
        [(each.id, each.run_id) for state in states for each in sorted_by[state] if each.run_id is not None]
        for states in ((State.PUBLISHED,), (State.RUNNING, State.COMMITTED, State.PUBLISHING))
    )
    told: dict[OpenedKind | None, dict[str, None]] = {}
    for ticket, run_id in dict.fromkeys((*queries_host.ended_lately(conn, now_ms), *drafts, *working)):
        kind = sandbox_of(paths, ticket, run_id)
        if kind is not None or (ticket, run_id) in drafts:
            told.setdefault(kind, {})[ticket] = None
    return {kind: tuple(tickets) for kind, tickets in told.items()}


def _asked(conn: Connection, ticket: Ticket) -> tuple[str, ...]:
    exchanges = queries_tickets.exchanges(conn, ticket.id)
    return tuple(asked.question for asked in exchanges if asked.answer is None)


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
        request = json.loads(paths.request(ticket.run_id or "").read_bytes())
        return len(request["scope_check"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
