"""Whether a ticket may start now, and by which names it may not. Pure.

Every reason is a `Hold` with its cause and its cure, and `why` shows all of them; the claim checks the ones
that must never be wrong a second time inside its transaction. Holds of the host: `admission_host.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.daemon import breaker, budget
from autopilot.daemon.admission_host import HostDemand, breaker_hold, host_holds
from autopilot.schemas.machine import State
from autopilot.schemas.ticket import Hold
from autopilot.schemas.units import format_usd, iso_utc

if TYPE_CHECKING:
    from collections.abc import Callable

    from autopilot.daemon.store.rows import Dependency
    from autopilot.schemas.ticket import Ticket

REVIEW_LOAD = "review-load"
PROBED = frozenset(
    {
        *("sandbox-broken", "battery-low", "agent-not-ready", "agent-sign-in"),
        *("remote-unreachable", "credential", "program-replaced"),
    }
)
"""Holds that a look over the machine makes: what stood at the last tick stands."""
_NAMED = 10
_ACCOUNT_STAGGER_MS = 2_000
__all__ = [
    "PROBED",
    "REVIEW_LOAD",
    "Admit",
    "Demand",
    "HostDemand",
    "Refuse",
    "holds",
    "host_holds",
    "ticket_holds",
    "verdict",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """A queued ticket asks to run: everything the answer depends on."""

    host: HostDemand
    ticket: Ticket
    agent: str
    """The agent it would run with: its own, else the configured default."""
    is_agent_known: bool
    is_repo_known: bool
    open_drafts: int
    """Drafts of ours that are open in the ticket's repository."""
    draft_tickets: tuple[str, ...] = ()
    """Whose they are, oldest first; told where they are the reason."""
    dependencies: tuple[Dependency, ...] = ()
    account: tuple[str, ...] = ()
    """The agents that sign in as this one does, itself among them; none where nothing signs it in."""


@dataclass(frozen=True, slots=True)
class Admit:
    """It may start."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """It may not, for every one of these reasons."""

    holds: tuple[Hold, ...]

    @property
    def hold(self) -> Hold:
        """Give the reason that counts first."""
        return self.holds[0]


def verdict(demand: Demand) -> Admit | Refuse:
    """Answer one demand."""
    found = holds(demand)
    return Refuse(found) if found else Admit()


def holds(demand: Demand) -> tuple[Hold, ...]:
    """Name everything that keeps the ticket from starting; the host's reasons come first."""
    return (*host_holds(demand.host), *ticket_holds(demand))


def ticket_holds(demand: Demand) -> tuple[Hold, ...]:
    """Name what keeps this ticket, beside what keeps every ticket."""
    found = [check(demand) for check in _CHECKS]
    ours = {f"agent:{demand.agent}", f"repo:{demand.ticket.repo}"}
    seen = (hold for hold in demand.host.probed if hold.scope in ours)
    return (*(hold for hold in found if hold is not None), *seen)


def _hold(
    demand: Demand, name: str, cause: str, cure: str, *, scope: str = "", clears_ms: int | None = None
) -> Hold:
    return Hold(
        name=name,
        scope=scope or f"ticket:{demand.ticket.id}",
        cause=cause,
        since_ms=demand.host.now_ms,
        cure=cure,
        clears_ms=clears_ms,
    )


def _agent_unknown(demand: Demand) -> Hold | None:
    if demand.is_agent_known:
        return None
    cause = f"no agent {demand.agent!r} is configured"
    return _hold(demand, "agent-unknown", cause, f"add [agents.{demand.agent}] to the configuration")


def _repo_unknown(demand: Demand) -> Hold | None:
    if demand.is_repo_known:
        return None
    cause = f"no repository {demand.ticket.repo!r} is configured"
    return _hold(demand, "repo-unknown", cause, "add a [[repo]] of that name to the configuration")


def _dependency(demand: Demand) -> Hold | None:
    open_ones = [item for item in demand.dependencies if item.state is not State.PUBLISHED]
    if not open_ones:
        return None
    cause = "waits for " + ", ".join(f"{item.ticket_id} ({item.state.value})" for item in open_ones)
    stuck = [item.ticket_id for item in open_ones if item.state in {State.FAILED, State.CANCELLED}]
    cure = f"`autopilot retry {stuck[0]}`, or cancel this one" if stuck else "clears when they are published"
    return _hold(demand, "dependency", cause, cure)


def _not_before(demand: Demand) -> Hold | None:
    due_ms = demand.ticket.not_before_ms
    if due_ms <= demand.host.now_ms:
        return None
    why = f": {demand.ticket.reason}" if demand.ticket.reason else ""
    return _hold(
        demand, "not-before", f"not before {iso_utc(due_ms)}{why}", "clears by itself", clears_ms=due_ms
    )


def _ticket_ceiling(demand: Demand) -> Hold | None:
    rules, spent = demand.host.rules, demand.ticket.spent_micro_usd
    if budget.fits_ticket(spent, rules):
        return None
    cause = (
        f"{format_usd(spent)} spent, and one more run may cost {format_usd(rules.run_ceiling_micro_usd)};"
        f" a ticket may cost {format_usd(rules.ticket_ceiling_micro_usd)}"
    )
    return _hold(demand, "ticket-ceiling", cause, "raise ticket_ceiling_usd, or cancel the ticket")


def _session_limit(demand: Demand) -> Hold | None:
    limit = demand.host.rules.sessions_per_ticket
    if demand.ticket.sessions < limit:
        return None
    cause = f"{demand.ticket.sessions} runs in its life; {limit} are allowed"
    return _hold(demand, "session-limit", cause, "raise sessions_per_ticket, or cancel the ticket")


def _token_limit(demand: Demand) -> Hold | None:
    limit = demand.host.rules.tokens_per_ticket
    if demand.ticket.tokens < limit:
        return None
    cause = f"{demand.ticket.tokens} tokens in its life; {limit} are allowed"
    return _hold(demand, "token-limit", cause, "raise tokens_per_ticket, or cancel the ticket")


def _breakers(demand: Demand) -> Hold | None:
    names = breaker.scope_names(agent=demand.agent, repo=demand.ticket.repo)[1:]
    rows = {row.scope: row for row in demand.host.facts.breakers}
    found = (breaker_hold(rows[name], demand.host.now_ms) for name in names if name in rows)
    return next((hold for hold in found if hold is not None), None)


def _sign_in_tried(demand: Demand) -> Hold | None:
    """Let the other agents of an account wait while its refused sign-in rests, or one run tries it."""
    scopes = {f"agent:{name}" for name in demand.account if name != demand.agent}
    rows = (row for row in demand.host.facts.breakers if row.scope in scopes and breaker.is_sign_in(row))
    found = (breaker_hold(row, demand.host.now_ms) for row in rows)
    return next((hold for hold in found if hold is not None), None)


def _account_stagger(demand: Demand) -> Hold | None:
    """Keep runs of one account apart, whatever is set for the whole machine: each may renew its sign-in."""
    now_ms, account = demand.host.now_ms, demand.account
    starts = (live.attempt.started_ms for live in demand.host.facts.running if live.attempt.agent in account)
    last_ms = max((start_ms for start_ms in starts if start_ms <= now_ms), default=None)
    if last_ms is None or now_ms >= last_ms + _ACCOUNT_STAGGER_MS:
        return None
    cause, clears_ms = "a run has just begun to sign in as it does", last_ms + _ACCOUNT_STAGGER_MS
    scope = f"agent:{demand.agent}"
    return _hold(demand, "launch-stagger", cause, "clears by itself", scope=scope, clears_ms=clears_ms)


def _agent_limited(demand: Demand) -> Hold | None:
    now_ms = demand.host.now_ms
    window = next((row for row in demand.host.facts.agent_windows if row.agent == demand.agent), None)
    if window is None or (now_ms >= window.resets_ms and window.probe_run_id is None):
        return None
    scope = f"agent:{demand.agent}"
    if window.probe_run_id is not None:
        cause = f"{window.probe_run_id} finds out whether the usage window is open again"
        return _hold(demand, "agent-limited", cause, "clears when that run ends well", scope=scope)
    cause = f"its usage window is used up: {window.reason}"
    return _hold(demand, "agent-limited", cause, "clears by itself", scope=scope, clears_ms=window.resets_ms)


def _repo_busy(demand: Demand) -> Hold | None:
    limit = demand.host.rules.per_repo_parallel
    running = [live.ticket.id for live in demand.host.facts.running if live.ticket.repo == demand.ticket.repo]
    if limit == 0 or len(running) < limit:
        return None
    cause = f"{', '.join(running)} works in it; {limit} may at once"
    return _hold(demand, "repo-busy", cause, "clears when that run ends", scope=f"repo:{demand.ticket.repo}")


def _review_load(demand: Demand) -> Hold | None:
    limit = demand.host.rules.max_open_drafts
    if limit == 0 or demand.open_drafts < limit:
        return None
    names = demand.draft_tickets
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    whose = f" ({', '.join(names[:_NAMED])}{more})" if names else ""
    cause = f"{demand.open_drafts} drafts wait for review{whose}; {limit} may"
    said = f"`autopilot review {names[0] if names else 'T-N'} --merged` or `--closed`"
    cure = f"merge or close some, which is noticed by itself, or say that you did: {said}"
    return _hold(demand, REVIEW_LOAD, cause, cure, scope=f"repo:{demand.ticket.repo}")


_CHECKS: tuple[Callable[[Demand], Hold | None], ...] = (
    _agent_unknown,
    _repo_unknown,
    _dependency,
    _not_before,
    _ticket_ceiling,
    _session_limit,
    _token_limit,
    _breakers,
    _sign_in_tried,
    _account_stagger,
    _agent_limited,
    _repo_busy,
    _review_load,
)
