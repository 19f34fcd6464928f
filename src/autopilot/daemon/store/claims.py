"""The claim's own statements: brakes, limits and the reservation, all inside the claim's transaction.

The limits are conditions of the INSERT itself, so that no second claimer can slip between a look and a write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, func, insert, literal, select

from autopilot.daemon import breaker, budget
from autopilot.daemon.store import queries_host
from autopilot.daemon.store.brakes import keep_breaker, keep_window
from autopilot.daemon.store.rows import ClaimRefused
from autopilot.daemon.store.tables import ATTEMPTS, IS_LIVE_RUN, TICKETS
from autopilot.daemon.store.tables_host import LEDGER, SWITCH
from autopilot.schemas.errors import AutopilotError, InvariantError
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import ColumnElement

    from autopilot.daemon.rules import Rules
    from autopilot.daemon.store.rows import AgentWindow, Breaker
    from autopilot.daemon.store.unit import Unit
    from autopilot.schemas.ticket import Ticket

Brakes = tuple[tuple["Breaker", ...], "AgentWindow | None"]


class RefusedClaim(AutopilotError):
    """Rolls the claim back; `transitions.claim` turns it into its value."""

    def __init__(self, hold: str, scope: str, cause: str) -> None:
        """Take what a ClaimRefused holds."""
        super().__init__("claim-refused", cause)
        self.value = ClaimRefused(hold, scope, cause)


def check_brakes(unit: Unit, seen: Ticket, agent: str) -> Brakes:
    """Look whether switch, breakers and the agent's usage window let a run start.

    Returns:
        The breakers and the window that this run would be the one probe of.

    Raises:
        RefusedClaim: one of them does not.
    """
    # The row lock keeps other claimers out where the database has no single writer (PostgreSQL).
    unit.conn.execute(select(SWITCH.c.id).with_for_update())
    if not queries_host.switch(unit.conn).may_launch(unit.now_ms):
        raise RefusedClaim("switch-off", breaker.HOST, "the switch stands at off")
    probes = []
    for row in queries_host.breakers_of(unit.conn, breaker.scope_names(agent=agent, repo=seen.repo)):
        match breaker.admits(row, unit.now_ms):
            case "refused":
                raise RefusedClaim("breaker-open", row.scope, f"the breaker of {row.scope} is {row.state}")
            case "probe":
                probes.append(row)
            case "free":
                pass
    return tuple(probes), _window_to_probe(unit, agent)


def _window_to_probe(unit: Unit, agent: str) -> AgentWindow | None:
    window = next((row for row in queries_host.agent_windows(unit.conn) if row.agent == agent), None)
    if window is None:
        return None
    if window.probe_run_id is not None or unit.now_ms < window.resets_ms:
        raise RefusedClaim("agent-limited", f"agent:{agent}", f"the usage window of {agent} is used up")
    return window


def begin_probes(unit: Unit, brakes: Brakes, run_id: str) -> None:
    """Make the run the one probe of every brake that it found ready for one."""
    probes, window = brakes
    for row in probes:
        keep_breaker(unit.conn, breaker.begin_probe(row, run_id))
        unit.note(Event.BREAKER_PROBED, scope=row.scope, run=run_id)
    if window is not None:
        keep_window(unit.conn, window, probe_run_id=run_id)


def start_attempt(unit: Unit, values: Mapping[str, Any], rules: Rules) -> None:
    """Insert the attempt with its reservation, if every limit still holds, and enter it in the ledger.

    Raises:
        RefusedClaim: a limit does not hold; its name says which.
    """
    names = list(values)
    chosen = select(*(literal(values[name], ATTEMPTS.c[name].type) for name in names)).where(
        and_(*_limits(unit, values, rules).values())
    )
    if unit.conn.execute(insert(ATTEMPTS).from_select(names, chosen)).rowcount != 1:
        raise _why_not(unit, values, rules)
    unit.conn.execute(
        insert(LEDGER).values(
            run_id=values["run_id"],
            ticket=values["ticket"],
            kind="reserved",
            micro_usd=values["reserved_micro_usd"],
            known=True,
            at_ms=unit.now_ms,
        )
    )
    unit.note(Event.BUDGET_RESERVED, run=values["run_id"], reserved_micro_usd=values["reserved_micro_usd"])


def _limits(unit: Unit, values: Mapping[str, Any], rules: Rules) -> dict[str, ColumnElement[bool]]:
    """Give every limit as a condition, by the name of the hold that it is."""
    mine = TICKETS.c.short_id == values["ticket"]
    amount = values["reserved_micro_usd"]
    settled = queries_host.settled_sum(unit.now_ms)
    live = select(func.count()).select_from(ATTEMPTS).where(IS_LIVE_RUN)
    spent_live = select(func.coalesce(func.sum(ATTEMPTS.c.spent_micro_usd), 0)).where(IS_LIVE_RUN)
    spent_ever = select(TICKETS.c.spent_micro_usd).where(mine)
    used_ever = select(TICKETS.c.tokens).where(mine)
    limits = {
        "stop-percent": settled + spent_live.scalar_subquery() < budget.stop_micro_usd(rules),
        "cost-ceiling": settled + queries_host.promised_sum() + amount <= rules.cost_ceiling_micro_usd,
        "ticket-ceiling": spent_ever.scalar_subquery() + amount <= rules.ticket_ceiling_micro_usd,
        "session-limit": literal(values["session"]) <= rules.sessions_per_ticket,
        "token-limit": used_ever.scalar_subquery() < rules.tokens_per_ticket,
    }
    if rules.max_parallel_agents:
        limits["slots-full"] = live.scalar_subquery() < rules.max_parallel_agents
    if rules.per_repo_parallel:
        in_repo = live.where(ATTEMPTS.c.repo == values["repo"])
        limits["repo-busy"] = in_repo.scalar_subquery() < rules.per_repo_parallel
    return limits


def _why_not(unit: Unit, values: Mapping[str, Any], rules: Rules) -> AutopilotError:
    scopes = {"repo-busy": f"repo:{values['repo']}"}
    for name, condition in _limits(unit, values, rules).items():
        if not unit.conn.execute(select(condition)).scalar_one():
            return RefusedClaim(
                name, scopes.get(name, breaker.HOST), f"the claim would break the limit {name}"
            )
    return InvariantError("claim-lost", "an attempt was not inserted although every limit holds")
