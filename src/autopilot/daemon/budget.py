"""What money allows: pure arithmetic on micro-dollars.

The claim checks the same sums once more inside its transaction; this is what explains them to a person.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autopilot.daemon.rules import Rules
    from autopilot.daemon.store.rows import Spending
    from autopilot.schemas.run import Usage

ROLLING_MS = 24 * 3600 * 1000
"""The ceiling looks back this far."""
_PERCENT = 100


@dataclass(frozen=True, slots=True)
class Charge:
    """What a run is charged at its end; `known` is False where nobody told and we assume the worst."""

    micro_usd: int
    known: bool


def charge(*, reserved: int, recorded: int, usage: Usage | None, has_run: bool = True) -> Charge:
    """Settle one run: once, at the largest amount ever recorded, never at nothing for want of a number.

    Args:
        reserved: the run's reservation in micro-dollars.
        recorded: the largest spend its events told so far, in micro-dollars.
        usage: what its result says; None when it left no result.
        has_run: False when no runner was ever started, so that nothing can have been spent.
    """
    if not has_run:
        return Charge(recorded, known=True)
    if usage is not None and usage.known:
        return Charge(max(usage.cost_micro_usd, recorded), known=True)
    told = 0 if usage is None else usage.cost_micro_usd
    return Charge(max(reserved, recorded, told), known=False)


def fits_ceiling(spending: Spending, rules: Rules) -> bool:
    """Tell whether one more run, at its own ceiling, stays within the rolling ceiling."""
    return spending.committed_micro_usd + rules.run_ceiling_micro_usd <= rules.cost_ceiling_micro_usd


def is_below_stop(spending: Spending, rules: Rules) -> bool:
    """Tell whether what is really spent is still below the share at which launching stops."""
    return spending.spent_micro_usd < stop_micro_usd(rules)


def stop_micro_usd(rules: Rules) -> int:
    """Give the spend at which launching stops, rounded down."""
    return rules.cost_ceiling_micro_usd * rules.stop_launching_percent // _PERCENT


def fits_ticket(spent_micro_usd: int, rules: Rules) -> bool:
    """Tell whether the ticket may still pay for one more run, over its whole life."""
    return spent_micro_usd + rules.run_ceiling_micro_usd <= rules.ticket_ceiling_micro_usd


def allows(spending: Spending, rules: Rules) -> bool:
    """Tell whether the day's money allows one more run."""
    return is_below_stop(spending, rules) and fits_ceiling(spending, rules)


def frees_ms(spending: Spending, charges: Iterable[tuple[int, int]], rules: Rules) -> int | None:
    """Give the moment (UTC epoch ms) when enough is older than a day for one more run; None: never.

    Args:
        spending: of the last 24 hours, in micro-dollars.
        charges: when (UTC epoch ms) each of these runs ended and what it was charged, the oldest first.
        rules: the limits.
    """
    left = spending
    for ended_ms, micro_usd in charges:
        left = replace(left, settled_micro_usd=max(0, left.settled_micro_usd - micro_usd))
        if allows(left, rules):
            return ended_ms + ROLLING_MS
    return None
