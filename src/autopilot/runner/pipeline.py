"""One attempt from top to bottom: whatever happens, a result.

Must not catch what it does not understand: that is the edge's (`__main__`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.shortage import full
from autopilot.runner.failure import RunFailure, as_failure
from autopilot.runner.footprint import is_about_disk
from autopilot.runner.phases.registry import walk
from autopilot.runner.shop import Shop, stopped
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.events import Event
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
    notebook.sandbox = shop.sandbox.kind
    shop.chronicle.begin()
    spec = notebook.spec
    shop.tell(Event.RUN_STARTED, ticket=spec.ticket_id, attempt=spec.attempt, sandbox=shop.sandbox.kind)
    try:
        result = _outcome(shop)
    finally:
        shop.close()
    try:
        shop.chronicle.close(result, rounds=notebook.rounds)
        shop.tell(Event.RUN_FINISHED, outcome=result.outcome.value, code=result.code)
    except OSError as exc:
        # The result is what counts, and its file may still fit where these did not.
        notebook.warn([f"the run's record could not be closed: {exc.strerror}"])
        return result.model_copy(update={"warnings": notebook.warnings})
    return result


def _outcome(shop: Shop) -> RunResult:
    notebook, clock = shop.notebook, shop.clock
    try:
        walk(shop)
    except AutopilotError as exc:
        failure = as_failure(exc)
    except OSError as exc:
        failure = _refusal(exc, shop.spec.run_dir)
    else:
        return notebook.success(now_ms=clock.now_ms())
    reason = shop.stop()
    if reason and (failure.outcome is Outcome.INFRASTRUCTURE or is_about_disk(reason)):
        failure = stopped(reason)  # what failed was what we had been asked to end
    return notebook.failed(failure, now_ms=clock.now_ms())


def _refusal(error: OSError, run_dir: Path) -> RunFailure:
    """Name what the machine refused: it is none of the ticket's."""
    if (told := full(error, run_dir)) is not None:
        return as_failure(told)
    hint = "is a folder of ours not writable?"
    return RunFailure(Outcome.INFRASTRUCTURE, "machine-refused", f"the machine refused: {error}", hint=hint)
