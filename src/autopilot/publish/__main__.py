"""`python -P -m autopilot.publish SPEC.json`: one publication, one verdict file.

Exit 0 whenever a verdict was written, 78 when the spec cannot be read, 75 when another publisher is at it.
The edge of this part: any failure, and being told to stop, becomes a verdict, and never a push.
"""

from __future__ import annotations

import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.clock import SystemClock
from autopilot.config.git import Git
from autopilot.publish import verdicts
from autopilot.publish.context import Context
from autopilot.publish.files import read_request, read_spec, write_verdict
from autopilot.publish.progress import EVENTS_FILE, Progress
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
    """Publish what the spec says."""
    if len(argv) != 1:
        sys.stderr.write("usage: python -P -m autopilot.publish SPEC.json\n")
        return ExitCode.USAGE
    signal.signal(signal.SIGTERM, _stop)
    clock, spec_file = SystemClock(), Path(argv[0]).absolute()
    try:
        spec = read_spec(spec_file)
        run(spec, Progress(spec_file.parent / EVENTS_FILE, clock, spec.id), clock)
    except AutopilotError as exc:
        sys.stderr.write(f"{exc}\n")
        return exc.exit_code
    return ExitCode.OK


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
        verdict = verdicts.bug(verdicts.Story(spec=spec, now_ms=clock.now_ms()), exc)
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
        git=Git(clock, scratch=folder / "git"),
        clock=clock,
        progress=progress,
        folder=folder,
    )


class Told(BaseException):
    """We were told to stop. No `except Exception` on the way swallows it; every `finally` is run."""


def _stop(number: int, frame: FrameType | None) -> None:
    """Turn TERM into an ordinary end, so that children are ended and the workspace is removed."""
    del frame
    signal.signal(number, signal.SIG_IGN)
    raise Told


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
