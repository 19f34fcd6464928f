"""Phase 1, Plan: what was red before the agent came. Planning itself joins here.

Must not refuse anything: a red base is a fact for the agent and the digest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.phases.checking import measure
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from autopilot.runner.phases.init import Ready
    from autopilot.runner.shop import Shop
    from autopilot.schemas.run import Baseline


def take(shop: Shop, ready: Ready) -> Baseline:
    """Measure the base and write it down.

    Raises:
        AutopilotError: it could not be measured.
    """
    baseline = measure(shop, ready)
    shop.notebook.baseline = baseline
    counts = baseline.counts
    shop.tell(
        Event.BASELINE_MEASURED,
        green=baseline.green,
        reason=baseline.reason,
        executed=counts.executed if counts else None,
        failed=counts.failed + counts.errored if counts else None,
    )
    shop.chronicle.measured(baseline)
    return baseline
