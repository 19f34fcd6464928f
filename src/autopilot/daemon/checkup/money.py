"""Whether tonight's money lasts for a run at all, with the figures, and when it frees.

Must not change anything.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from autopilot.daemon import budget
from autopilot.daemon.checkup.check import blocked, ok, warning
from autopilot.daemon.rules import rules_of
from autopilot.daemon.store import queries_host
from autopilot.daemon.store.engine import open_store
from autopilot.daemon.store.rows import Spending
from autopilot.schemas.units import format_usd, iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autopilot.daemon.checkup.scene import Scene
    from autopilot.daemon.rules import Rules
    from autopilot.schemas.checkup import Check

_NOTHING = Spending(settled_micro_usd=0, reserved_micro_usd=0, live_spent_micro_usd=0, unknown_runs=0)
_CURE = "raise cost_ceiling_usd, or wait: autopilot budget"


def money(scene: Scene) -> Check:
    """Look at the last 24 hours; without a queue nothing was spent."""
    spending, now_ms = _NOTHING, scene.clock.now_ms()
    charges: tuple[tuple[int, int], ...] = ()
    if scene.paths.database.exists():
        store = open_store(scene.paths.database, scene.clock)
        with closing(store), store.read() as conn:
            spending = queries_host.spending(conn, now_ms)
            charges = queries_host.charges(conn, now_ms)
    return today(spending, charges, rules_of(scene.settings), ends_ms=scene.ends_ms())


def today(spending: Spending, charges: Iterable[tuple[int, int]], rules: Rules, *, ends_ms: int) -> Check:
    """Judge the money.

    Args:
        spending: of the last 24 hours, in micro-dollars.
        charges: when (UTC epoch ms) each of these runs ended and what it was charged, the oldest first.
        rules: the limits.
        ends_ms: the end of the night (UTC epoch ms).
    """
    spent, ceiling = format_usd(spending.settled_micro_usd), format_usd(rules.cost_ceiling_micro_usd)
    seen = f"{spent} of {ceiling} spent in 24 hours"
    if spending.reserved_micro_usd:
        seen += f", {format_usd(spending.reserved_micro_usd)} reserved"
    if budget.allows(spending, rules):
        left = rules.cost_ceiling_micro_usd - spending.committed_micro_usd
        return ok(
            "budget", f"{seen}; room for {left // rules.run_ceiling_micro_usd} more runs at their ceiling"
        )
    stop = format_usd(budget.stop_micro_usd(rules))
    needs = f"{seen}; a run may cost {format_usd(rules.run_ceiling_micro_usd)} and launching stops at {stop}"
    frees_ms = budget.frees_ms(spending, charges, rules)
    if frees_ms is None:
        return blocked(
            "budget", f"{needs}: it never fits", "raise cost_ceiling_usd, or lower run_ceiling_usd"
        )
    if frees_ms >= ends_ms:
        return blocked(
            "budget", f"{needs}: nothing can start before {iso_utc(frees_ms)}, after the night", _CURE
        )
    return warning("budget", f"{needs}: nothing starts before {iso_utc(frees_ms)}", _CURE)
