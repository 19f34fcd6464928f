"""`python -P -m autopilot.publish [state] SPEC.json`: one publication, one verdict file; or one question.

With `state` it asks what became of pull requests of ours, and writes a report. Exit 0 whenever the file was
written, 78 when the spec cannot be read, 75 when another publisher is at it.
The edge of this part: any failure, and being told to stop, becomes a verdict, and never a push.
"""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.clock import SystemClock
from autopilot.config.git import Git
from autopilot.config.lease import LeaseWatch
from autopilot.config.paths import PUBLISH_EVENTS_FILE
from autopilot.config.private import keep_private
from autopilot.config.room import is_full
from autopilot.publish import inquiry, verdicts
from autopilot.publish.context import Context
from autopilot.publish.files import (
    read_request,
    read_spec,
    read_state_spec,
    write_report,
    write_verdict,
)
from autopilot.publish.progress import Progress
from autopilot.publish.publisher import publish
from autopilot.publish.workspace import PublisherBusy, workspace
from autopilot.schemas.errors import AutopilotError, ExitCode
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from autopilot.config.clock import Clock
    from autopilot.schemas.publication import PublishSpec


def main(argv: Sequence[str]) -> int:
    """Publish what the spec says, or ask what it says."""
    match list(argv):
        case [spec]:
            act = _publish
        case ["state", spec]:
            act = _ask
        case _:
            sys.stderr.write("usage: python -P -m autopilot.publish [state] SPEC.json\n")
            return ExitCode.USAGE
    signal.signal(signal.SIGTERM, _stop)
    try:
        act(Path(spec).absolute(), SystemClock())
    except AutopilotError as exc:
        sys.stderr.write(f"{exc}\n")
        return exc.exit_code
    return ExitCode.OK


def _publish(spec_file: Path, clock: Clock) -> None:
    spec = read_spec(spec_file)
    if spec.lease is not None:
        LeaseWatch(spec.lease.file, spec.lease.lease_s, clock=clock, on_lost=_stop_ourselves).start()
    run(spec, Progress(spec_file.parent / PUBLISH_EVENTS_FILE, clock, spec.id), clock)


def _ask(spec_file: Path, clock: Clock) -> None:
    """Ask, and write the report.

    Raises:
        TransientError: another one is at work on this question.
        OSError: the report cannot be written.
    """
    spec = read_state_spec(spec_file)
    try:
        with workspace(spec.workdir) as folder:
            report = inquiry.inquire(spec, clock=clock, folder=folder)
    except PublisherBusy:
        raise
    except Told:
        report = inquiry.unknown(spec, "stopped", "it was told to stop", now_ms=clock.now_ms())
    except Exception as exc:  # any failure becomes a report
        sys.stderr.write(traceback.format_exc())
        code = "disk-full" if isinstance(exc, OSError) and is_full(exc) else "bug"
        report = inquiry.unknown(spec, code, f"it broke: {type(exc).__name__}", now_ms=clock.now_ms())
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as below
    write_report(spec.report, report)


def run(spec: PublishSpec, progress: Progress, clock: Clock) -> None:
    """Publish, write the verdict, and say so.

    Raises:
        TransientError: another publisher is at work on this publication.
        OSError: the verdict cannot be written.
    """
    try:
        with workspace(spec.workdir) as folder:
            verdict = publish(_context(spec, progress, clock, folder))
    except PublisherBusy:
        raise
    except Told:
        verdict = verdicts.stopped(verdicts.Story(spec=spec, now_ms=clock.now_ms()))
    except Exception as exc:  # any failure becomes a verdict
        sys.stderr.write(traceback.format_exc())
        verdict = verdicts.broken(verdicts.Story(spec=spec, now_ms=clock.now_ms()), exc)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # from here on it is as good as done
    write_verdict(spec.verdict, verdict)
    try:
        progress.note(Event.PUBLISH_FINISHED, outcome=verdict.outcome, code=verdict.code)
    except OSError as exc:  # the verdict is there, and that is what counts
        sys.stderr.write(f"the last progress line could not be written: {exc}\n")


def _context(spec: PublishSpec, progress: Progress, clock: Clock, folder: Path) -> Context:
    request, fault = read_request(spec.request)
    return Context(
        spec=spec,
        request=request,
        request_fault=fault,
        git=Git(clock, folder / "git", timeout_s=spec.git_s, grace_s=spec.kill_grace_s),
        clock=clock,
        progress=progress,
        folder=folder,
    )


class Told(BaseException):
    """We were told to stop. No `except Exception` on the way swallows it; every `finally` is run."""


def _stop_ourselves() -> None:
    """Nobody looks after us: end as if we had been told to, on the thread that is at work."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)


def _stop(number: int, frame: FrameType | None) -> None:
    """Turn TERM into an ordinary end, so that children are ended and the workspace is removed."""
    del frame
    signal.signal(number, signal.SIG_IGN)
    raise Told


if __name__ == "__main__":
    keep_private()
    sys.exit(main(sys.argv[1:]))
