"""Every number the judge uses, in base units.

Pure: built once from the settings, then handed to the rules and to the claim. Must not read configuration.
The defaults are the product's defaults, so that a test states only the number it is about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.schemas.units import GIB, MS_PER_S, micro_usd

if TYPE_CHECKING:
    from autopilot.config.settings import Settings

_USD = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Limits on money, parallel work, attempts and waiting. Zero means unlimited where that is said."""

    run_ceiling_micro_usd: int = 5 * _USD
    ticket_ceiling_micro_usd: int = 10 * _USD
    cost_ceiling_micro_usd: int = 25 * _USD
    stop_launching_percent: int = 80

    max_parallel_agents: int = 2
    """Zero: unlimited."""
    per_repo_parallel: int = 1
    """Zero: unlimited."""
    max_open_drafts: int = 5
    """Per repository. Zero: unlimited."""
    launch_stagger_ms: int = 2 * MS_PER_S

    attempts_per_ticket: int = 3
    releases_per_ticket: int = 10
    sessions_per_ticket: int = 15
    tokens_per_ticket: int = 40_000_000
    max_ask_rounds: int = 2

    backoff_ms: int = 60 * MS_PER_S
    backoff_cap_ms: int = 1800 * MS_PER_S

    lease_ms: int = 60 * MS_PER_S
    """How long a claim is promised after each renewal."""

    min_free_disk_bytes: int = 5 * GIB
    min_free_memory_bytes: int = 2 * GIB
    max_load_per_cpu: float = 8
    """Zero: unlimited."""

    breaker_open_after: int = 3
    breaker_cooldown_ms: int = 1800 * MS_PER_S
    breaker_cooldown_cap_ms: int = 14_400 * MS_PER_S


def rules_of(settings: Settings) -> Rules:
    """Read the numbers out of the settings, in the judge's own units."""
    return Rules(
        run_ceiling_micro_usd=micro_usd(settings.run_ceiling_usd),
        ticket_ceiling_micro_usd=micro_usd(settings.ticket_ceiling_usd),
        cost_ceiling_micro_usd=micro_usd(settings.cost_ceiling_usd),
        stop_launching_percent=settings.stop_launching_percent,
        max_parallel_agents=settings.max_parallel_agents,
        per_repo_parallel=settings.per_repo_parallel,
        max_open_drafts=settings.max_open_drafts,
        launch_stagger_ms=_ms(settings.launch_stagger_s),
        attempts_per_ticket=settings.attempts_per_ticket,
        releases_per_ticket=settings.releases_per_ticket,
        sessions_per_ticket=settings.sessions_per_ticket,
        tokens_per_ticket=settings.tokens_per_ticket,
        max_ask_rounds=settings.max_ask_rounds,
        backoff_ms=_ms(settings.backoff_s),
        backoff_cap_ms=_ms(settings.backoff_cap_s),
        lease_ms=_ms(settings.daemon.lease_s),
        min_free_disk_bytes=round(settings.min_free_disk_gib * GIB),
        min_free_memory_bytes=round(settings.min_free_memory_gib * GIB),
        max_load_per_cpu=settings.max_load_per_cpu,
        breaker_open_after=settings.breaker.open_after,
        breaker_cooldown_ms=_ms(settings.breaker.cooldown_s),
        breaker_cooldown_cap_ms=_ms(settings.breaker.cooldown_cap_s),
    )


def _ms(duration_s: float) -> int:
    return round(duration_s * MS_PER_S)
