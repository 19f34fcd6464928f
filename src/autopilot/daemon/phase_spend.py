"""What runs used in each of their phases, as their results tell it. A run that told nothing is left out.

Must not decide what a run is charged (`budget.py`): this only shows where its tokens and dollars went.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from autopilot.daemon.results import result_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autopilot.config.paths import Paths
    from autopilot.schemas.run import PhaseUsage


@dataclass(frozen=True, slots=True)
class PhaseSpend:
    """One phase: dollars in millionths, and tokens; `unpriced` are the models whose tokens have no price."""

    phase: str
    cost_micro_usd: int
    known: bool
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    unpriced: tuple[str, ...] = ()


def of_run(paths: Paths, ticket: str, run_id: str) -> tuple[PhaseSpend, ...]:
    """Give what the phases of a run used; nothing where its result is gone or does not tell."""
    result = result_of(paths, ticket, run_id)
    return () if result is None else tuple(map(_told, result.phases))


def added_up(spends: Iterable[PhaseSpend]) -> tuple[PhaseSpend, ...]:
    """Add up, phase by phase, in the order in which they first came."""
    sums: dict[str, PhaseSpend] = {}
    for one in spends:
        had = sums.get(one.phase)
        sums[one.phase] = one if had is None else _plus(had, one)
    return tuple(sums.values())


def _plus(had: PhaseSpend, more: PhaseSpend) -> PhaseSpend:
    return replace(
        had,
        cost_micro_usd=had.cost_micro_usd + more.cost_micro_usd,
        known=had.known and more.known,
        input_tokens=had.input_tokens + more.input_tokens,
        output_tokens=had.output_tokens + more.output_tokens,
        cached_tokens=had.cached_tokens + more.cached_tokens,
        unpriced=tuple(dict.fromkeys((*had.unpriced, *more.unpriced))),
    )


def _told(one: PhaseUsage) -> PhaseSpend:
    used = one.usage
    return PhaseSpend(
        phase=one.phase,
        cost_micro_usd=used.cost_micro_usd,
        known=used.known,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cached_tokens=used.cached_tokens,
        unpriced=used.unpriced,
    )
