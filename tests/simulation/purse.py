"""What was really spent, whoever wrote it down."""

from __future__ import annotations

from collections import Counter

from autopilot.daemon.budget import ROLLING_MS
from tests.simulation.clocks import VirtualClock

SLACK_MS = 120_000
"""A clock set by less than half a minute is not noticed; several may add up."""


class Purse:
    """The bill of the model's vendor."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._payments: list[tuple[int, int]] = []
        self.by_run: Counter[str] = Counter()

    def spend(self, run_id: str, micro_usd: int) -> None:
        """Pay now."""
        self.by_run[run_id] += micro_usd
        if micro_usd:
            self._payments.append((self._clock.elapsed_ms, micro_usd))

    def in_a_day(self, *, slack_ms: int) -> int:
        """Everything paid in the last 24 hours, or almost, whatever the clock was set to."""
        after_ms = self._clock.elapsed_ms - ROLLING_MS + slack_ms
        return sum(amount for at_ms, amount in self._payments if at_ms > after_ms)
