"""`python -P -m autopilot.publish [ACT] SPEC.json`: a publication and its verdict, or a question.

With `state` it asks what became of pull requests of ours, with `try` whether a branch of ours could be
pushed, with `check` how narrow the credential is and how the forge holds its branches, with `read` what an
issue of a tracker says, with `reach` what our credential may do there, and writes a report. With `deliver` it
lets a text out through a channel, once, and reports what became of it.
Exit 0 whenever the file was written, 78 when the spec cannot be read, 75 when another publisher is at it.
The edge of this part: any failure, and being told to stop, becomes a verdict, and never a push.
Each act imports what it needs itself: a question has no use for the checks of a publication.
"""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config import installed
from autopilot.config.clock import SystemClock
from autopilot.config.git import FOREIGN_MEMORY_BYTES, Git
from autopilot.config.heap import loading
from autopilot.config.lease import LeaseWatch
from autopilot.config.paths import PUBLISH_EVENTS_FILE
from autopilot.config.private import keep_private
from autopilot.config.room import is_full, log_text
from autopilot.publish import verdicts
from autopilot.publish.files import read_request, read_spec, write_report, write_verdict
from autopilot.publish.workspace import PublisherBusy, workspace
from autopilot.schemas.errors import AutopilotError, ExitCode
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    from autopilot.config.clock import Clock
    from autopilot.publish.context import Context
    from autopilot.publish.files import Spec
    from autopilot.publish.progress import Progress
    from autopilot.schemas.delivery import DeliverySpec
    from autopilot.schemas.publication import (
        ForgeCheckSpec,
        PublishSpec,
        PullStateSpec,
        PushTrialSpec,
        ReachReport,
    )
    from autopilot.schemas.records import Record
    from autopilot.schemas.tracking import IssueSpec, TrackerCheckSpec

    # What names a working folder and where its report goes.
    Question = PullStateSpec | PushTrialSpec | ForgeCheckSpec | IssueSpec | TrackerCheckSpec | DeliverySpec

_BUG = "bug"


def main(argv: Sequence[str]) -> int:
    """Publish what the spec says, or ask what it says."""
    match list(argv):
        case [spec]:
            act = _publish
        case ["state", spec]:
            act = _ask
        case ["try", spec]:
            act = _try
        case ["check", spec]:
            act = _check
        case ["read", spec]:
            act = _read
        case ["reach", spec]:
            act = _reach
        case ["deliver", spec]:
            act = _deliver
        case _:
            acts = "state|try|check|read|reach|deliver"
            sys.stderr.write(f"usage: python -P -m autopilot.publish [{acts}] SPEC.json\n")
            return ExitCode.USAGE
    try:
        act(Path(spec).absolute(), SystemClock())
    except AutopilotError as exc:
        sys.stderr.write(f"{exc}\n")
        return exc.exit_code
    return ExitCode.OK


def _taken(kind: type[Spec], spec_file: Path) -> Spec:
    """Read our instruction; from here on being told to stop is answered. Raises as `read_spec`."""
    signal.signal(signal.SIGTERM, _stop)
    return read_spec(kind, spec_file)


def _publish(spec_file: Path, clock: Clock) -> None:
    with loading():
        from autopilot.publish.progress import Progress
        from autopilot.schemas.publication import PublishSpec

    spec = _taken(PublishSpec, spec_file)
    run(spec, Progress(spec_file.parent / PUBLISH_EVENTS_FILE, clock, spec.id), clock)


def _ask(spec_file: Path, clock: Clock) -> None:
    """Ask what became of pull requests; raises as `_answer`."""
    with loading():
        from autopilot.publish import inquiry
        from autopilot.schemas.publication import PullStateSpec

    spec = _taken(PullStateSpec, spec_file)
    _answer(
        spec,
        lambda folder: inquiry.inquire(spec, clock=clock, folder=folder),
        lambda code, what: inquiry.unknown(spec, code, what, now_ms=clock.now_ms()),
    )


def _try(spec_file: Path, clock: Clock) -> None:
    """Try whether we could push; raises as `_answer`."""
    with loading():
        from autopilot.publish import trial
        from autopilot.schemas.publication import PushTrialSpec

    spec = _taken(PushTrialSpec, spec_file)
    _answer(
        spec,
        lambda folder: trial.attempt(spec, clock=clock, folder=folder),
        lambda code, what: trial.failed(spec, code, what, is_transient=code != _BUG),
    )


def _deliver(spec_file: Path, clock: Clock) -> None:
    """Let a text out; raises as `_answer`, and where the report cannot be written the mark tells."""
    with loading():
        from autopilot.publish import delivery
        from autopilot.schemas.delivery import DeliverySpec

    spec = _taken(DeliverySpec, spec_file)
    _answer(
        spec,
        lambda folder: delivery.deliver(spec, clock=clock, folder=folder),
        lambda code, what: delivery.stopped(spec, code, what, now_ms=clock.now_ms()),
    )


def _answer(spec: Question, act: Callable[[Path], Record], broken: Callable[[str, str], Record]) -> None:
    """Do it, and write the report.

    Args:
        spec: where it is done, and where the report goes.
        act: gives the report of what was done in the folder it is handed.
        broken: gives the report of what came to no end, from a code and words.

    Raises:
        TransientError: another one is at work on this.
        OSError: the report cannot be written.
    """
    try:
        with workspace(spec.workdir) as folder:
            report = act(folder)
    except PublisherBusy:
        raise
    except Told:
        report = broken("stopped", "it was told to stop")
    except Exception as exc:  # any failure becomes a report
        log_text(traceback.format_exc())
        code = "disk-full" if isinstance(exc, OSError) and is_full(exc) else _BUG
        report = broken(code, f"it broke{_place(exc)}: {type(exc).__name__}")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as below
    write_report(spec.report, report)


def _check(spec_file: Path, clock: Clock) -> None:
    """Look at a forge; raises as `_answer`."""
    with loading():
        from autopilot.publish import forge_check
        from autopilot.schemas.publication import ForgeCheckSpec

    spec = _taken(ForgeCheckSpec, spec_file)
    _answer(spec, lambda folder: forge_check.look(spec, clock=clock, folder=folder), _unanswered)


def _read(spec_file: Path, clock: Clock) -> None:
    """Read an issue; raises as `_answer`."""
    with loading():
        from autopilot.publish import tracker_questions
        from autopilot.schemas.tracking import IssueSpec

    spec = _taken(IssueSpec, spec_file)
    _answer(
        spec,
        lambda folder: tracker_questions.read_issue(spec, clock=clock, folder=folder),
        lambda code, what: tracker_questions.unread(code, what, acts="us" if code == _BUG else "nobody"),
    )


def _reach(spec_file: Path, clock: Clock) -> None:
    """Look at a tracker's credential; raises as `_answer`."""
    with loading():
        from autopilot.publish import tracker_questions
        from autopilot.schemas.tracking import TrackerCheckSpec

    spec = _taken(TrackerCheckSpec, spec_file)
    _answer(spec, lambda folder: tracker_questions.look(spec, clock=clock, folder=folder), _unanswered)


def _unanswered(code: str, what: str) -> ReachReport:
    from autopilot.schemas.publication import ReachReport

    return ReachReport(code=code, message=what)


def _place(error: Exception) -> str:
    """Name the line of ours that it came from: what a question's publisher prints goes with its folder."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "autopilot" in Path(frame.filename).parts]
    return f" at {Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""


def run(spec: PublishSpec, progress: Progress, clock: Clock) -> None:
    """Publish, write the verdict, and say so.

    Raises:
        TransientError: another publisher is at work on this publication.
        OSError: the verdict cannot be written.
    """
    try:
        with loading():
            from autopilot.publish.publisher import publish
        installed.refuse_replaced()
        _watch_lease(spec, clock)
        with workspace(spec.workdir) as folder:
            verdict = publish(_context(spec, progress, clock, folder))
    except PublisherBusy:
        raise
    except Told:
        verdict = verdicts.stopped(verdicts.Story(spec=spec, now_ms=clock.now_ms()))
    except Exception as exc:  # any failure becomes a verdict
        log_text(traceback.format_exc())
        verdict = verdicts.broken(verdicts.Story(spec=spec, now_ms=clock.now_ms()), exc)
    verdict = verdicts.by_one_program(verdicts.Story(spec=spec, now_ms=clock.now_ms()), verdict)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # from here on it is as good as done
    write_verdict(spec.verdict, verdict)
    try:
        progress.note(Event.PUBLISH_FINISHED, outcome=verdict.outcome, code=verdict.code)
    except OSError as exc:  # the verdict is there, and that is what counts
        log_text(f"the last progress line could not be written: {exc}\n")


def _watch_lease(spec: PublishSpec, clock: Clock) -> None:
    """End as soon as nobody looks after us, or nothing could tell us any more.

    Raises:
        TransientError: `thread-unstarted`: nothing could from the start.
    """
    if spec.lease is not None:
        end = _stop_ourselves
        LeaseWatch(spec.lease.file, spec.lease.lease_s, clock=clock, on_lost=end, on_blind=end).start()


def _context(spec: PublishSpec, progress: Progress, clock: Clock, folder: Path) -> Context:
    from autopilot.publish.context import Context

    request, fault = read_request(spec.request)
    return Context(
        spec=spec,
        request=request,
        request_fault=fault,
        git=Git(
            clock,
            folder / "git",
            timeout_s=spec.git_s,
            grace_s=spec.kill_grace_s,
            memory_bytes=FOREIGN_MEMORY_BYTES,
        ),
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
