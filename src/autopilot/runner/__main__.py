"""The runner's edge: `run SPEC`, `verify SPEC RESULT` and `bounds`. Any failure becomes a result.

Each command imports what it needs itself: a verification has no use for an agent's phases.
Must not start anything before `adopt_orphans`, or leave without a result while the run folder can be written.
"""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config import installed, proc
from autopilot.config.clock import SystemClock
from autopilot.config.heap import loading
from autopilot.config.lease import LeaseWatch
from autopilot.config.paths import RESULT_FILE
from autopilot.config.plain import one_line
from autopilot.config.private import keep_private
from autopilot.config.room import log_text, memory_short
from autopilot.schemas.errors import AutopilotError, ExitCode, TransientError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autopilot.config.clock import Clock
    from autopilot.runner.failure import RunFailure
    from autopilot.schemas.run import RunSpec

_USAGE = "usage: python -P -m autopilot.runner run SPEC | verify SPEC RESULT | bounds\n"
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main(argv: Sequence[str]) -> int:
    """Carry out one command; 0 whenever a result was written, 78 when the specification is unusable."""
    proc.adopt_orphans()
    clock = SystemClock()
    try:
        match list(argv):
            case ["run", spec]:
                return run(Path(spec), clock, stop_on_signals())
            case ["verify", spec, result]:
                with loading():
                    from autopilot.runner import verify

                return verify.main(Path(spec), Path(result), clock)
            case ["bounds"]:
                from autopilot.runner.sandbox import cells

                sys.stdout.write(cells.report())
                return ExitCode.OK
    except AutopilotError as exc:
        sys.stderr.write(f"{exc}\n")
        return exc.exit_code
    sys.stderr.write(_USAGE)
    return ExitCode.USAGE


def run(spec_path: Path, clock: Clock, stop: Callable[[], str | None]) -> int:
    """Carry out the run that a file describes, and write its result.

    Returns:
        0 whenever the result was written; 78 when the file is no specification.
    """
    with loading():
        import traceback

        from pydantic import ValidationError

        from autopilot.runner import pipeline
        from autopilot.runner.notebook import Notebook
        from autopilot.runner.outbox import Outbox
        from autopilot.schemas.run import RunSpec

    try:
        spec = RunSpec.model_validate_json(spec_path.read_bytes())
    except (OSError, ValidationError) as exc:
        sys.stderr.write(f"{spec_path} is no specification of a run: {exc}\n")
        return ExitCode.CONFIG
    if (spec.run_dir / RESULT_FILE).exists():
        sys.stderr.write(f"the run {spec.run_id} has its result already\n")
        return ExitCode.CONFIG
    notebook = Notebook(spec, started_ms=clock.now_ms())
    try:
        installed.refuse_replaced()
        result = pipeline.run(notebook, clock, or_lease_lost(stop, spec, clock))
    except Exception as exc:
        log_text(traceback.format_exc())
        result = notebook.failed(_failure(exc), now_ms=clock.now_ms())
    Outbox(spec.run_dir, spec.run_id, clock).write_result(result)
    return ExitCode.OK


def _failure(error: Exception) -> RunFailure:
    """Say what the run ended by: what the machine had none of comes back, all else is our fault."""
    from autopilot.runner.failure import RunFailure, as_failure
    from autopilot.schemas.run import Outcome

    match error:
        case TransientError():
            return as_failure(error)
        case MemoryError():
            return as_failure(memory_short())
    if installed.is_replaced():
        return as_failure(installed.replaced())
    what = f"a fault of autopilot itself: {type(error).__name__}: {one_line(str(error))}"
    hint = "the traceback is in the runner's log; please report it"
    return RunFailure(Outcome.BUG, "runner-bug", what, hint=hint)


def or_lease_lost(stop: Callable[[], str | None], spec: RunSpec, clock: Clock) -> Callable[[], str | None]:
    """Stop also when nobody looks after the run: without a daemon, nobody would hear of its end.

    Raises:
        TransientError: `thread-unstarted`: nothing can look for it.
    """
    from autopilot.runner.shop import LEASE_LOST, LEASE_UNWATCHED

    if spec.lease is None:
        return stop
    lost = threading.Event()
    lease, lease_s = spec.lease.file, spec.lease.lease_s
    # That it is over is asked for at every step: the thread may have had no memory to tell us.
    watch = LeaseWatch(lease, lease_s, clock=clock, on_lost=lost.set, on_blind=lambda: None)
    watch.start()

    def unless_watched() -> str | None:
        return LEASE_LOST if lost.is_set() else LEASE_UNWATCHED if watch.is_over else None

    return lambda: stop() or unless_watched()


def stop_on_signals() -> Callable[[], str | None]:
    """Note TERM, INT and HUP instead of dying of them: the agent is ended first, then a result is written."""
    asked = threading.Event()
    for number in _SIGNALS:
        signal.signal(number, lambda _number, _frame: asked.set())
    return lambda: "stopped" if asked.is_set() else None


if __name__ == "__main__":
    keep_private()
    raise SystemExit(main(sys.argv[1:]))
