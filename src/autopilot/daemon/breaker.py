"""The launch breaker: stops paying for attempts that produce nothing. Pure.

One value per scope (`host`, `agent:<name>`, `repo:<name>`): closed, open until a cool-down ends, half-open
while exactly one probe runs. It says nothing about the cause inside a run; that is the run's own breaker.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from autopilot.daemon.rules import Rules
    from autopilot.daemon.store.rows import Breaker

HOST = "host"
_SIGN_IN = "credential"
_RENEWAL_MS = 15_000
"""Whoever changed a credential has put the new one into its place by then."""

ScopeKind = Literal["agent", "repo", "host"]
Admission = Literal["free", "probe", "refused"]


@dataclass(frozen=True, slots=True)
class Production:
    """What an attempt left behind, as far as the breaker is concerned (feature B15).

    `produced` is True for something a person can use, False for nothing, None where the end says nothing
    about agent, repository or host (a usage limit, a stop). `scope` and `failure_class` belong to False.
    """

    produced: bool | None
    failure_class: str | None = None
    scope: ScopeKind | None = None
    is_conclusive: bool = False
    """Whether once is enough: the next run would meet the same, whatever its ticket."""
    may_be_renewed: bool = False
    """Whether what it met may be another by now, a credential: one probe finds out after a short rest."""


def scope_names(*, agent: str, repo: str) -> tuple[str, str, str]:
    """Name the three scopes that a run of this agent in this repository belongs to."""
    return HOST, f"agent:{agent}", f"repo:{repo}"


def admits(breaker: Breaker, now_ms: int) -> Admission:
    """Tell whether a run may start: freely, as the one probe, or not."""
    match breaker.state:
        case "closed":
            return "free"
        case "open":
            until_ms = breaker.cooldown_until_ms
            # A clock that was set back must not make the rest longer than it was meant to be.
            is_resting = until_ms is not None and 0 < until_ms - now_ms <= breaker.cooldown_ms
            return "refused" if is_resting else "probe"
        case "half-open":
            return "refused"


def is_sign_in(breaker: Breaker) -> bool:
    """Tell whether it is open, or half-open, for a credential that was refused."""
    return breaker.state != "closed" and breaker.failure_class == _SIGN_IN


def is_renewal_spent(breaker: Breaker, run_id: str) -> bool:
    """Tell whether the refused credential has been read again already: by this very run, or by one before."""
    return is_sign_in(breaker) and (breaker.probe_run_id == run_id or breaker.failures > 1)


def of_its_account(production: Production) -> Production:
    """Say what an attempt tells of another agent that signs in as its own does, for which it tried too.

    Why else that agent produced nothing says nothing about whether the sign-in is accepted.
    """
    is_told = production.produced is not False or production.scope != "agent"
    return production if is_told or production.failure_class == _SIGN_IN else Production(produced=None)


def renewal_rest_ms(rules: Rules) -> int:
    """Give how long nothing starts after a credential was refused, before it is read again."""
    return min(_RENEWAL_MS, rules.breaker_cooldown_ms)


def begin_probe(breaker: Breaker, run_id: str) -> Breaker:
    """Let the one probe through."""
    return replace(breaker, state="half-open", probe_run_id=run_id)


def reset(breaker: Breaker) -> Breaker:
    """Close it, as a success or a person does."""
    return replace(
        breaker,
        state="closed",
        failures=0,
        failure_class=None,
        opened_ms=None,
        cooldown_until_ms=None,
        cooldown_ms=0,
        probe_run_id=None,
    )


def after_attempt(
    breaker: Breaker, run_id: str, production: Production, *, now_ms: int, rules: Rules
) -> Breaker:
    """Judge one ended attempt.

    Args:
        breaker: the scope's breaker as it stands.
        run_id: the run that ended; a half-open breaker listens to its own probe only.
        production: what the attempt left.
        now_ms: UTC epoch ms.
        rules: when it opens and for how long.
    """
    if production.produced:
        return reset(breaker)
    if breaker.state == "half-open" and breaker.probe_run_id == run_id:
        return _after_probe(breaker, production, now_ms=now_ms, rules=rules)
    if breaker.state != "closed" or not _concerns(breaker, production):
        return breaker  # open: an older run's failure is no news
    return _count(breaker, production, now_ms=now_ms, rules=rules)


def _concerns(breaker: Breaker, production: Production) -> bool:
    is_nothing = production.produced is False
    return is_nothing and breaker.scope.partition(":")[0] == production.scope


def _count(breaker: Breaker, production: Production, *, now_ms: int, rules: Rules) -> Breaker:
    is_same = breaker.failure_class == production.failure_class
    failures = breaker.failures + 1 if is_same else 1
    counted = replace(breaker, failures=failures, failure_class=production.failure_class)
    if failures < rules.breaker_open_after and not production.is_conclusive:
        return counted
    is_first = production.may_be_renewed and failures == 1
    rest_ms = renewal_rest_ms(rules) if is_first else rules.breaker_cooldown_ms
    return _open(counted, rest_ms, now_ms=now_ms)


def _open(breaker: Breaker, cooldown_ms: int, *, now_ms: int) -> Breaker:
    return replace(
        breaker,
        state="open",
        opened_ms=now_ms if breaker.opened_ms is None else breaker.opened_ms,
        cooldown_ms=cooldown_ms,
        cooldown_until_ms=now_ms + cooldown_ms,
        probe_run_id=None,
    )


def _after_probe(breaker: Breaker, production: Production, *, now_ms: int, rules: Rules) -> Breaker:
    if production.produced is None:
        return replace(breaker, state="open", probe_run_id=None)  # told nothing: the next run may probe
    if not _concerns(breaker, production):
        return reset(breaker)
    if production.failure_class != breaker.failure_class:
        return _count(reset(breaker), production, now_ms=now_ms, rules=rules)
    longer_ms = max(rules.breaker_cooldown_ms, min(2 * breaker.cooldown_ms, rules.breaker_cooldown_cap_ms))
    return _open(replace(breaker, failures=breaker.failures + 1), longer_ms, now_ms=now_ms)
