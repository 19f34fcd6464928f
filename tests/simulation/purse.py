"""What was really spent, whoever wrote it down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from sqlite3 import Row

from autopilot.daemon.budget import ROLLING_MS
from tests.simulation.clocks import VirtualClock
from tests.simulation.ends import Broken


class Purse:
    """The bill of the model's vendor."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._payments: list[tuple[int, str, int]] = []
        self._ceilings: dict[str, int] = {}
        self._told: Counter[str] = Counter()
        self._results: Counter[str] = Counter()
        self._ceiling = 0
        self._counted: Counter[str] = Counter()
        self.by_run: Counter[str] = Counter()

    def spend(self, run_id: str, micro_usd: int, *, ceiling: int) -> None:
        """Pay for one step now, which may cost more than is left, but begins only where something is left.

        Raises:
            Broken: nothing was left.
        """
        self._ceilings[run_id] = ceiling
        if not micro_usd:
            return
        if self.by_run[run_id] >= ceiling:
            raise Broken(f"{run_id}: a step began with {self.by_run[run_id]} of {ceiling} spent")
        self.by_run[run_id] += micro_usd
        self._payments.append((self._clock.known_ms, run_id, micro_usd))

    def hear(self, run_id: str, micro_usd: int) -> None:
        """The run has told what it has cost so far, and nothing of it was lost on the way."""
        self._told[run_id] = max(self._told[run_id], micro_usd)

    def hear_result(self, run_id: str, micro_usd: int) -> None:
        """The run has written what it cost in all."""
        self._results[run_id] = micro_usd

    def lose_result(self, run_id: str) -> None:
        """The disk did not give what the run wrote: it has told nobody."""
        del self._results[run_id]

    def owed(self, run_id: str) -> int:
        """The least that may be charged: what it cost, but for the part of its last step beyond its ceiling
        where that was told to nobody.
        """
        cost = self.by_run[run_id]
        told = max(self._told[run_id], self._results[run_id])
        return max(told, min(cost, self._ceilings.get(run_id, cost)))

    def in_a_day(self) -> int:
        """Everything paid in the last 24 hours, whatever the clock was set to while a daemon lived."""
        return sum(amount for _, amount in self._recent())

    def allow(self, ceiling: int, attempts: Sequence[Row]) -> None:
        """A claim was made under this ceiling, with what it could know of each attempt."""
        self._ceiling = ceiling
        self._counted = Counter({row["run_id"]: row["spent_micro_usd"] for row in attempts})

    def allowed(self) -> int:
        """The most that may be paid in 24 hours: the ceiling of the latest claim, and what last steps cost
        beyond their run's ceiling and the claim could not count in.
        """
        unseen = 0
        for run_id in {run_id for run_id, _ in self._recent()}:
            known = max(self._ceilings[run_id], self._counted[run_id])
            unseen += max(0, self.by_run[run_id] - known)
        return self._ceiling + unseen

    def _recent(self) -> list[tuple[str, int]]:
        after_ms = self._clock.known_ms - ROLLING_MS
        return [(run_id, amount) for at_ms, run_id, amount in self._payments if at_ms > after_ms]
