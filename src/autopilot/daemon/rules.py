"""Every number the judge uses, in base units.

Pure: built once from the settings, then handed to the rules and to the claim. Must not read configuration.
The defaults are the product's defaults, so that a test states only the number it is about.
"""

from __future__ import annotations

from dataclasses import dataclass

_S = 1000
_GIB = 1024**3
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
    launch_stagger_ms: int = 2 * _S

    attempts_per_ticket: int = 3
    releases_per_ticket: int = 10
    sessions_per_ticket: int = 15
    max_ask_rounds: int = 2

    backoff_ms: int = 60 * _S
    backoff_cap_ms: int = 1800 * _S

    min_free_disk_bytes: int = 5 * _GIB
    min_free_memory_bytes: int = 2 * _GIB

    breaker_open_after: int = 3
    breaker_cooldown_ms: int = 1800 * _S
    breaker_cooldown_cap_ms: int = 14_400 * _S
