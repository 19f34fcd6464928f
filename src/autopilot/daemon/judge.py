"""Reads what a child left behind and says whether it can be believed.

Must not decide what follows from it (`decide.py` does) and must not trust the folder: an agent may have put
anything there, a link, a pipe or a flood included. What does not pass is a loss, with the reason.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.paths import RESULT_FILE, RUNNER_LOG
from autopilot.daemon.decide import Loss
from autopilot.schemas.errors import TransientError
from autopilot.schemas.publication import PublishOutcome, PublishVerdict, PullStateReport
from autopilot.schemas.records import faults_of
from autopilot.schemas.run import Outcome, RunResult

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.daemon.decide import LossCause
    from autopilot.daemon.store.rows import LivePublication, LiveRun
    from autopilot.daemon.watch import Ending
    from autopilot.schemas.publication import PullStateSpec

MAX_RESULT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Found:
    """How a run's end was found: by its watch, or, without one, by a daemon that started later."""

    ending: Ending | None
    at_ms: int
    boot_ms: int
    """When this machine started, UTC epoch ms: a run from before cannot have died by itself."""
    boot: str | None = None
    """The name of this boot, where there is one."""


def result_of(live: LiveRun, run_dir: Path, *, found: Found) -> RunResult | Loss:
    """Give the run's result, or a loss where there is none that can be believed.

    Args:
        live: the run as our own records know it.
        run_dir: its folder.
        found: how and when its end was found.
    """
    told = found.ending.told if found.ending else "the runner was gone when the daemon started"
    # Made before the process is: the daemon may have died after the start and before it wrote down whom.
    was_started = live.attempt.process is not None or os.path.lexists(run_dir / RUNNER_LOG)
    cause = _cause(live, found, was_started=was_started)
    raw = _read(run_dir / RESULT_FILE)
    if isinstance(raw, str):
        return _loss(live, found, cause, f"{told}; result.json: {raw}")
    try:
        result = RunResult.model_validate_json(raw)
    except ValidationError as exc:
        return _loss(
            live, found, cause, f"{told}; result.json is not valid: {faults_of(exc, whole='document')[0]}"
        )
    if fault := _result_fault(result, live):
        return _loss(live, found, cause, f"{told}; result.json is not this run's: {fault}")
    if found.ending is not None and found.ending.is_overdue and result.outcome is Outcome.STOPPED:
        return _loss(live, found, cause, told)  # given back unused, it would hang again and again
    return result


def verdict_of(live: LivePublication, verdict: Path) -> PublishVerdict | str:
    """Give the publisher's verdict, or a text that says why there is none that can be believed."""
    raw = _read(verdict)
    if isinstance(raw, str):
        return f"verdict: {raw}"
    try:
        value = PublishVerdict.model_validate_json(raw)
    except ValidationError as exc:
        return f"the verdict is not valid: {faults_of(exc, whole='document')[0]}"
    publication = live.publication
    seen = (value.id, value.ticket_id, value.run_id)
    if seen != (publication.id, publication.ticket_id, publication.run_id):
        return f"the verdict belongs to {seen}"
    if value.fence is not None and value.fence != publication.fence:
        return f"the verdict is of another try (fence {value.fence}, not {publication.fence})"
    if value.fence is None and value.finished_ms < publication.started_ms:
        return "the verdict is older than this try"
    return value


def report_of(spec: PullStateSpec) -> PullStateReport | str:
    """Give the report on these questions, or a text that says why there is none that can be believed."""
    raw = _read(spec.report)
    if isinstance(raw, str):
        return f"report: {raw}"
    try:
        report = PullStateReport.model_validate_json(raw)
    except ValidationError as exc:
        return f"the report is not valid: {faults_of(exc, whole='document')[0]}"
    if report.id != spec.id:
        return f"the report belongs to {report.id}"
    if strangers := {each.publication for each in report.answers} - {each.publication for each in spec.pulls}:
        return f"the report names what was not asked: {', '.join(sorted(strangers))}"
    return report


def stopped_verdict(live: LivePublication, why: str, now_ms: int) -> PublishVerdict:
    """Say in its place what a publisher could not: that it was stopped by us, through no fault of its own."""
    publication = live.publication
    return PublishVerdict(
        id=publication.id,
        ticket_id=publication.ticket_id,
        run_id=publication.run_id,
        fence=publication.fence,
        outcome=PublishOutcome.PUBLISH_DEFERRED,
        code="stopped",
        message=f"it was stopped: {why}",
        finished_ms=now_ms,
    )


def _read(path: Path) -> bytes | str:
    """Read a file that may be anything; a text says why it cannot be read.

    Raises:
        TransientError: `reading-short`: nothing can be read now, so that nobody can say what it holds.
    """
    try:
        return read_plain(path, max_bytes=MAX_RESULT_BYTES)
    except UnreadableError as exc:
        if exc.is_our_want:
            raise TransientError("reading-short", f"{path.name}: {exc}") from exc
        return str(exc)


def _result_fault(result: RunResult, live: LiveRun) -> str:
    ticket, attempt = live.ticket, live.attempt
    expected = {
        "run_id": attempt.run_id,
        "ticket_id": ticket.id,
        "attempt": attempt.no,
        "fence": attempt.fence,
        "branch": ticket.branch,
    }
    for name, value in expected.items():
        if getattr(result, name) != value:
            return f"{name} is {getattr(result, name)!r}, not {value!r}"
    if result.outcome is Outcome.COMMITTED and not (result.head and result.base_sha and result.base):
        return "it says committed and names no commit or base"
    return ""


def _loss(live: LiveRun, found: Found, cause: LossCause, reason: str) -> Loss:
    return Loss(live.attempt.run_id, live.attempt.fence, reason, cause, found.at_ms)


def _cause(live: LiveRun, found: Found, *, was_started: bool) -> LossCause:
    if found.ending is not None:
        return "stopped" if found.ending.asked else "died"
    if _is_of_earlier_boot(live, found):
        return "reboot"
    return "died" if was_started else "never-started"


def _is_of_earlier_boot(live: LiveRun, found: Found) -> bool:
    """Go by the boot's name where both have one: a clock that was set says nothing about a reboot."""
    if live.attempt.boot is not None and found.boot is not None:
        return live.attempt.boot != found.boot
    return live.attempt.started_ms < found.boot_ms
