"""What a run said at its end, for whoever shows it; what became of the run was decided without this.

Must not judge by it: a run's own words about itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from pydantic import ValidationError

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.journal import read_lines
from autopilot.config.paths import EVENTS_FILE, RESULT_FILE, read_folder
from autopilot.schemas.cell import OpenedKind
from autopilot.schemas.events import Event
from autopilot.schemas.run import RunResult

if TYPE_CHECKING:
    from autopilot.config.paths import Paths

_MAX_RESULT_BYTES = 64 * 1024 * 1024
_BEGINNING_BYTES = 64 * 1024


def result_of(paths: Paths, ticket: str, run_id: str) -> RunResult | None:
    """Give the result of a run; None where it is gone, unreadable, or of another run."""
    try:
        file = read_folder(paths, ticket, run_id, RESULT_FILE) / RESULT_FILE
        result = RunResult.model_validate_json(read_plain(file, max_bytes=_MAX_RESULT_BYTES))
    except (UnreadableError, ValidationError, OSError):
        return None
    return result if result.run_id == run_id else None


def sandbox_of(paths: Paths, ticket: str, run_id: str) -> OpenedKind | None:
    """Give what a run was locked up in, whatever is configured by now; None where nobody wrote it down."""
    result = result_of(paths, ticket, run_id)
    told = result.sandbox if result is not None else None
    return told or told_sandbox(paths, ticket, run_id)


def told_sandbox(paths: Paths, ticket: str, run_id: str) -> OpenedKind | None:
    """Give what the journal of a run told at its start: it is there for a lost run and an old result too."""
    journal = read_folder(paths, ticket, run_id, EVENTS_FILE) / EVENTS_FILE
    try:
        entries = read_lines(journal, max_bytes=_BEGINNING_BYTES).entries if journal.is_file() else ()
    except OSError:
        return None
    told = next((each.get("sandbox") for each in entries if each.get("event") == Event.RUN_STARTED), None)
    return next((kind for kind in get_args(OpenedKind) if kind == told), None)
