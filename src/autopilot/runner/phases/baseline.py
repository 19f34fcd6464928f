"""Phase 1, Plan: what was red before the agent came. Planning itself joins here.

A red base is a fact for the agent and the digest. Only tests that could never run here end the run: no agent
can turn them green, so none is paid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.failure import RunFailure
from autopilot.runner.phases.checking import measure
from autopilot.schemas.events import Event
from autopilot.schemas.policy import POLICY_FILE
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from autopilot.runner.phases.init import Ready
    from autopilot.runner.shop import Shop
    from autopilot.schemas.run import Baseline

NOT_STARTED = "not-started"


def take(shop: Shop, ready: Ready) -> Baseline:
    """Measure the base and write it down.

    Raises:
        AutopilotError: it could not be measured.
        RunFailure: its tests cannot be started on this machine; configuration.
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
    if baseline.code == NOT_STARTED:
        hint = (
            f"install it where the daemon runs, or say in {POLICY_FILE} how (commands.setup, commands.test)"
        )
        raise RunFailure(Outcome.CONFIGURATION, "tests-cannot-start", baseline.reason, hint=hint)
    return baseline
