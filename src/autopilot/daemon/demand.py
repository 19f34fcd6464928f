"""Gathers what admission must know; the answer is `admission.py`'s.

Must not decide and must not change anything: `why` asks the same questions as the loop.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import psutil

from autopilot.config.clock import look_at_zone
from autopilot.daemon import budget
from autopilot.daemon.admission import PROBED, Demand, HostDemand, holds
from autopilot.daemon.rules import rules_of
from autopilot.daemon.store import queries_host, queries_runs, queries_tickets
from autopilot.daemon.windows import Schedule

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from autopilot.config.settings import Settings
    from autopilot.daemon.desk import Desk
    from autopilot.daemon.rules import Rules
    from autopilot.schemas.ticket import Hold, Ticket


def host_demand(
    conn: Connection,
    *,
    settings: Settings,
    rules: Rules,
    state_dir: Path,
    now_ms: int,
    probed: tuple[Hold, ...] = (),
) -> HostDemand:
    """Look at the store, the hours and the machine; `probed` is what a look over it has found."""
    facts = queries_host.facts(conn, now_ms)
    return HostDemand(
        now_ms=now_ms,
        facts=facts,
        rules=rules,
        charges=() if budget.allows(facts.spending, rules) else queries_host.charges(conn, now_ms),
        schedule=schedule_of(settings),
        free_disk_bytes=_free_disk_bytes(state_dir),
        free_memory_bytes=psutil.virtual_memory().available,
        load_per_cpu=load_per_cpu(),
        probed=probed,
    )


def demand_of(conn: Connection, ticket: Ticket, *, host: HostDemand, settings: Settings) -> Demand:
    """Look at what one ticket needs."""
    agent, limit = agent_of(ticket, settings), host.rules.max_open_drafts
    open_drafts = queries_runs.open_drafts(conn, ticket.repo)
    is_full = 0 < limit <= open_drafts
    drafts = queries_runs.drafts_of(conn, ticket.repo) if is_full else ()
    return Demand(
        host=host,
        ticket=ticket,
        agent=agent,
        is_agent_known=agent in settings.agents,
        is_repo_known=any(repo.name == ticket.repo for repo in settings.repos),
        open_drafts=open_drafts,
        draft_tickets=tuple(dict.fromkeys(draft.ticket_id for draft in drafts)),
        dependencies=queries_tickets.dependencies(conn, ticket.id),
        account=account_of(agent, settings),
    )


def holds_of(desk: Desk, conn: Connection, ticket: Ticket) -> tuple[Hold, ...]:
    """Name every hold of a queued ticket as of now; one that stands already keeps its start."""
    standing = queries_host.holds(conn)
    host = host_demand(
        conn,
        settings=desk.settings,
        rules=rules_of(desk.settings),
        state_dir=desk.paths.state,
        now_ms=desk.clock.now_ms(),
        probed=tuple(hold for hold in standing if hold.name in PROBED),
    )
    since_ms = {(hold.name, hold.scope): hold.since_ms for hold in standing}
    found = holds(demand_of(conn, ticket, host=host, settings=desk.settings))
    return tuple(
        hold.model_copy(update={"since_ms": since_ms.get((hold.name, hold.scope), hold.since_ms)})
        for hold in found
    )


def agent_of(ticket: Ticket, settings: Settings) -> str:
    """Name who works on a ticket: its own agent, its repository's, or the default one."""
    of_repo = next((repo.agent for repo in settings.repos if repo.name == ticket.repo), None)
    return ticket.agent or of_repo or settings.default_agent


def account_of(agent: str, settings: Settings) -> tuple[str, ...]:
    """Name the agents that sign in as this one does, itself among them; none where nothing signs it in."""
    mine = settings.agents[agent].account if agent in settings.agents else None
    if mine is None:
        return ()
    return tuple(name for name, other in settings.agents.items() if other.account == mine)


def schedule_of(settings: Settings) -> Schedule | None:
    """Give the nightly window; None when there is none."""
    window = settings.schedule.window
    return Schedule(window, zone_of(settings)) if window else None


def zone_of(settings: Settings) -> ZoneInfo | None:
    """Give the time zone of the schedule; None = the system's, as it is by now."""
    name = settings.schedule.timezone
    if name:
        return ZoneInfo(name)
    look_at_zone()
    return None


def load_per_cpu() -> float | None:
    """Give how many processes of five minutes wanted each processor; None where this system does not say."""
    try:
        return os.getloadavg()[1] / (os.cpu_count() or 1)
    except OSError:
        return None


def _free_disk_bytes(folder: Path) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None
