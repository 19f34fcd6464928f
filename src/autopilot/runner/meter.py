"""What a run has spent and its phases have used, from the counters its agent processes show.

Must not read a price or a clock. A run counts at the largest spend ever recorded for it: a repeated reading
adds nothing, a lower one refunds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from autopilot.schemas.units import MAX_RUN_MICRO_USD


@dataclass(frozen=True, slots=True)
class Meter:
    """Micro-dollars of one run. `base` is what earlier processes and counters came to."""

    ceiling_micro_usd: int | None
    base_micro_usd: int = 0
    last_micro_usd: int = 0
    is_known: bool = True
    is_priced: bool = False

    @property
    def total_micro_usd(self) -> int:
        """What the run has spent so far, as far as it is known."""
        return min(self.base_micro_usd + self.last_micro_usd, MAX_RUN_MICRO_USD)

    @property
    def left_micro_usd(self) -> int | None:
        """What may still be spent; None without a ceiling."""
        if self.ceiling_micro_usd is None:
            return None
        return max(0, self.ceiling_micro_usd - self.total_micro_usd)

    @property
    def is_over(self) -> bool:
        """Tell whether the ceiling is reached."""
        return self.left_micro_usd == 0

    def next_process(self) -> Meter:
        """A new process counts from zero again."""
        return Meter(self.ceiling_micro_usd, self.total_micro_usd, 0, self.is_known)

    def read(self, cost_micro_usd: int, *, is_priced: bool = False) -> Meter:
        """Take a reading of the present process's counter; one that fell has started anew.

        An agent's own total takes the place of what its tokens were priced at: it is no new counter.
        """
        is_anew = cost_micro_usd < self.last_micro_usd and not (self.is_priced and not is_priced)
        return replace(
            self,
            base_micro_usd=self.total_micro_usd if is_anew else self.base_micro_usd,
            last_micro_usd=cost_micro_usd,
            is_priced=is_priced,
        )

    def lost_sight(self) -> Meter:
        """A process ended without telling what it had spent: the total is only a lower bound now."""
        return replace(self, is_known=False)


@dataclass(frozen=True, slots=True)
class TokenMeter:
    """Tokens of one phase. An adapter counts those of a process up: a lower reading is no new counter.

    Those read from a cache are not counted: an agent reads its whole conversation from it at every turn.
    """

    budget: int | None = None
    base: int = 0
    last: int = 0

    @property
    def total(self) -> int:
        """What the phase has used so far, as far as it is known."""
        return self.base + self.last

    @property
    def is_over(self) -> bool:
        """Tell whether the budget is passed."""
        return self.budget is not None and self.total > self.budget

    def next_process(self) -> TokenMeter:
        """A new process counts from zero again."""
        return TokenMeter(self.budget, self.total)

    def read(self, tokens: int) -> TokenMeter:
        """Take a reading of the present process's counters."""
        return replace(self, last=max(self.last, tokens))
