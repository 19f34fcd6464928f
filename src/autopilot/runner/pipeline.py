"""One attempt from top to bottom: whatever happens, a result.

Must not catch what it does not understand: that is the edge's (`__main__`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.failure import RunFailure, as_failure
from autopilot.runner.phases.registry import walk
from autopilot.runner.shop import Shop
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.events import Event
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from autopilot.config.clock import Clock
    from autopilot.runner.notebook import Notebook
    from autopilot.schemas.run import RunResult


def run(notebook: Notebook, clock: Clock, stop: Callable[[], str | None]) -> RunResult:
    """Carry out a run and give its result; nothing of it is written up yet.

    Args:
        notebook: holds the specification, and the facts when this raises.
        clock: for times and limits.
        stop: gives a reason when somebody asked the run to end.

    Raises:
        InvariantError: the run's folder has served a run already.
        OSError: the run's folder cannot be written at all.
    """
    shop = Shop.open(notebook, clock, stop)
    shop.chronicle.begin()
    shop.tell(Event.RUN_STARTED, ticket=notebook.spec.ticket_id, attempt=notebook.spec.attempt)
    try:
        walk(shop)
        result = notebook.success(now_ms=clock.now_ms())
    except AutopilotError as exc:
        result = notebook.failed(as_failure(exc), now_ms=clock.now_ms())
    except OSError as exc:
        what = f"the machine refused: {exc}"
        hint = "is the disk full, or a folder of ours not writable?"
        failure = RunFailure(Outcome.INFRASTRUCTURE, "machine-refused", what, hint=hint)
        result = notebook.failed(failure, now_ms=clock.now_ms())
    shop.chronicle.close(result, rounds=notebook.rounds)
    shop.tell(Event.RUN_FINISHED, outcome=result.outcome.value, code=result.code)
    return result
