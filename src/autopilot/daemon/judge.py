"""Reads what a run left behind and says whether it can be believed. Of a publisher `verdicts.py` does.

Must not decide what follows from it (`decide.py` does) and must not trust the folder: an agent may have put
anything there, a link, a pipe or a flood included. What does not pass is a loss, with the reason.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.journal import read_lines
from autopilot.config.paths import EVENTS_FILE, RESULT_FILE, RUNNER_LOG
from autopilot.daemon.decide import Loss
from autopilot.schemas.errors import TransientError
from autopilot.schemas.events import Event
from autopilot.schemas.records import faults_of
from autopilot.schemas.run import Outcome, RunResult
from autopilot.schemas.units import MAX_RUN_MICRO_USD

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.daemon.decide import LossCause
    from autopilot.daemon.store.rows import LiveRun
    from autopilot.daemon.watch import Ending

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
    raw = read_left(run_dir / RESULT_FILE)
    if isinstance(raw, str):
        return _loss(live, found, f"{told}; result.json: {raw}", cause=cause, run_dir=run_dir)
    try:
        result = RunResult.model_validate_json(raw)
    except ValidationError as exc:
        fault = faults_of(exc, whole="document")[0]
        return _loss(live, found, f"{told}; result.json is not valid: {fault}", cause=cause, run_dir=run_dir)
    if fault := _result_fault(result, live):
        return _loss(
            live, found, f"{told}; result.json is not this run's: {fault}", cause=cause, run_dir=run_dir
        )
    if found.ending is not None and found.ending.is_overdue and result.outcome is Outcome.STOPPED:
        return _loss(
            live, found, told, cause=cause, run_dir=run_dir
        )  # given back unused, it would hang again
    return result


def told_spend(journal: Path) -> int:
    """Give the largest spend that a run's journal tells of."""
    return max((spent for spent in _spends(journal) if spent <= MAX_RUN_MICRO_USD), default=0)


def _spends(journal: Path) -> Iterator[int]:
    offset = -1
    while True:
        try:
            reading = read_lines(journal, max(offset, 0)) if journal.is_file() else None
        except OSError:
            return
        if reading is None or reading.offset == offset:
            return
        offset = reading.offset
        for entry in reading.entries:
            spent = entry.get("cost_micro_usd")
            if entry.get("event") == Event.AGENT_SPENT and isinstance(spent, int) and spent is not True:
                yield spent


def read_left(path: Path) -> bytes | str:
    """Read a file that may be anything; a text says why it cannot be read.

    Raises:
        TransientError: `reading-short`: nothing can be read now, so that nobody can say what it holds.
    """
    try:
        return read_plain(path, max_bytes=MAX_RESULT_BYTES)
    except UnreadableError as exc:
        if exc.is_our_want:
            hint = "nothing to do: it is read again"
            raise TransientError("reading-short", f"{path.name}: {exc}", hint=hint) from exc
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


def _loss(live: LiveRun, found: Found, reason: str, *, cause: LossCause, run_dir: Path) -> Loss:
    spent = told_spend(run_dir / EVENTS_FILE)
    return Loss(live.attempt.run_id, live.attempt.fence, reason, cause, found.at_ms, spent)


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
