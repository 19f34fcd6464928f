"""What was really spent, whoever wrote it down."""

from __future__ import annotations

from collections import Counter

from autopilot.daemon.budget import ROLLING_MS
from tests.simulation.clocks import VirtualClock


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
            self._payments.append((self._clock.known_ms, micro_usd))

    def in_a_day(self) -> int:
        """Everything paid in the last 24 hours, whatever the clock was set to while a daemon lived."""
        after_ms = self._clock.known_ms - ROLLING_MS
        return sum(amount for at_ms, amount in self._payments if at_ms > after_ms)
