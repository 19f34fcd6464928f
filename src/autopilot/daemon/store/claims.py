"""The claim's own statements: brakes, limits and the reservation, all inside the claim's transaction.

The limits are conditions of the INSERT itself, so that no second claimer can slip between a look and a write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Integer, and_, bindparam, func, insert, or_, select

from autopilot.daemon import breaker, budget
from autopilot.daemon.store import queries_host
from autopilot.daemon.store.brakes import keep_breaker, keep_window
from autopilot.daemon.store.mapping import to_attempt
from autopilot.daemon.store.prepared import Prepared
from autopilot.daemon.store.rows import ClaimRefused
from autopilot.daemon.store.tables import ATTEMPTS, IS_LIVE_RUN, TICKETS
from autopilot.daemon.store.tables_host import LEDGER
from autopilot.schemas.errors import AutopilotError, InvariantError
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Select

    from autopilot.daemon.rules import Rules
    from autopilot.daemon.store.rows import AgentWindow, Attempt, Breaker
    from autopilot.daemon.store.unit import Unit
    from autopilot.schemas.ticket import Ticket

_ATTEMPT = (
    "run_id", "ticket", "no", "session", "agent", "repo", "fence", "claim_token", "state", "started_ms",
    "lease_until_ms", "reserved_micro_usd", "is_probe",
)  # fmt: skip


def _limits() -> Mapping[str, ColumnElement[bool]]:
    """Give every limit as a condition, by the name of the hold that it is. Zero slots are no limit."""
    live = select(func.count()).select_from(ATTEMPTS).where(IS_LIVE_RUN)
    in_repo = live.where(ATTEMPTS.c.repo == bindparam("repo"))
    spent_live = select(func.coalesce(func.sum(ATTEMPTS.c.spent_micro_usd), 0)).where(IS_LIVE_RUN)
    mine = TICKETS.c.short_id == bindparam("ticket")
    spent_ever = select(TICKETS.c.spent_micro_usd).where(mine)
    used_ever = select(TICKETS.c.tokens).where(mine)
    settled, amount = queries_host.settled_sum(), bindparam("reserved_micro_usd", type_=BigInteger)
    slots, repo_slots = bindparam("slots", type_=Integer), bindparam("repo_slots", type_=Integer)
    return {
        "stop-percent": settled + spent_live.scalar_subquery() < bindparam("stop_micro_usd"),
        "cost-ceiling": settled + queries_host.promised_sum() + amount <= bindparam("ceiling_micro_usd"),
        "ticket-ceiling": spent_ever.scalar_subquery() + amount <= bindparam("ticket_ceiling_micro_usd"),
        "session-limit": bindparam("session", type_=Integer) <= bindparam("sessions", type_=Integer),
        "token-limit": used_ever.scalar_subquery() < bindparam("most_tokens"),
        "slots-full": or_(slots == 0, live.scalar_subquery() < slots),
        "repo-busy": or_(repo_slots == 0, in_repo.scalar_subquery() < repo_slots),
    }


def _chosen() -> Select[Any]:
    columns = (bindparam(name, type_=ATTEMPTS.c[name].type) for name in _ATTEMPT)
    return select(*columns).where(and_(*_limits().values()))


_START = Prepared(lambda: insert(ATTEMPTS).from_select(_ATTEMPT, _chosen()).returning(*ATTEMPTS.c))
_RESERVE = Prepared(lambda: insert(LEDGER))

Brakes = tuple[tuple["Breaker", ...], "AgentWindow | None"]


class RefusedClaim(AutopilotError):
    """Rolls the claim back; `transitions.claim` turns it into its value."""

    def __init__(self, hold: str, scope: str, cause: str) -> None:
        """Take what a ClaimRefused holds."""
        super().__init__("claim-refused", cause)
        self.value = ClaimRefused(hold, scope, cause)


def check_brakes(unit: Unit, seen: Ticket, agent: str, account: Sequence[str]) -> Brakes:
    """Look whether switch, breakers and the agent's usage window let a run start.

    Args:
        unit: the transaction.
        seen: the ticket.
        agent: who would work on it.
        account: the agents that sign in as it does: whose refused sign-in this run would try.

    Returns:
        The breakers and the window that this run would be the one probe of.

    Raises:
        RefusedClaim: one of them does not.
    """
    if not queries_host.switch(unit.conn, is_locking=True).may_launch(unit.now_ms):
        raise RefusedClaim("switch-off", breaker.HOST, "the switch stands at off")
    probes = []
    scopes = breaker.scope_names(agent=agent, repo=seen.repo)
    others = {f"agent:{name}" for name in account}.difference(scopes)
    refused = [row for row in queries_host.breakers(unit.conn) if row.scope in others] if others else []
    own = queries_host.breakers_of(unit.conn, scopes)
    for row in (*own, *filter(breaker.is_sign_in, refused)):
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


def start_attempt(unit: Unit, values: Mapping[str, Any], rules: Rules) -> Attempt:
    """Insert the attempt with its reservation, if every limit still holds, and enter it in the ledger.

    Raises:
        RefusedClaim: a limit does not hold; its name says which.
    """
    asked = {**values, **_numbers(unit, rules)}
    row = _START.row(unit.conn, asked)
    if row is None:
        raise _why_not(unit, asked)
    _RESERVE.run(
        unit.conn,
        {
            "run_id": values["run_id"],
            "ticket": values["ticket"],
            "kind": "reserved",
            "micro_usd": values["reserved_micro_usd"],
            "known": True,
            "at_ms": unit.now_ms,
        },
    )
    unit.note(Event.BUDGET_RESERVED, run=values["run_id"], reserved_micro_usd=values["reserved_micro_usd"])
    return to_attempt(row)


def _numbers(unit: Unit, rules: Rules) -> dict[str, int]:
    return {
        "since_ms": queries_host.since_ms(unit.now_ms),
        "now_ms": unit.now_ms,
        "stop_micro_usd": budget.stop_micro_usd(rules),
        "ceiling_micro_usd": rules.cost_ceiling_micro_usd,
        "ticket_ceiling_micro_usd": rules.ticket_ceiling_micro_usd,
        "sessions": rules.sessions_per_ticket,
        "most_tokens": rules.tokens_per_ticket,
        "slots": rules.max_parallel_agents,
        "repo_slots": rules.per_repo_parallel,
    }


def _why_not(unit: Unit, asked: Mapping[str, Any]) -> AutopilotError:
    scopes = {"repo-busy": f"repo:{asked['repo']}"}
    for name, condition in _limits().items():
        if not unit.conn.execute(select(condition), asked).scalar_one():
            return RefusedClaim(
                name, scopes.get(name, breaker.HOST), f"the claim would break the limit {name}"
            )
    return InvariantError("claim-lost", "an attempt was not inserted although every limit holds")
