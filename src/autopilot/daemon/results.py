"""What a run said at its end, for whoever shows it; what became of the run was decided without this.

Must not judge by it: a run's own words about itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.paths import RESULT_FILE, read_folder
from autopilot.schemas.run import RunResult

if TYPE_CHECKING:
    from autopilot.config.paths import Paths

_MAX_RESULT_BYTES = 64 * 1024 * 1024


def result_of(paths: Paths, ticket: str, run_id: str) -> RunResult | None:
    """Give the result of a run; None where it is gone, unreadable, or of another run."""
    try:
        file = read_folder(paths, ticket, run_id, RESULT_FILE) / RESULT_FILE
        result = RunResult.model_validate_json(read_plain(file, max_bytes=_MAX_RESULT_BYTES))
    except (UnreadableError, ValidationError, OSError):
        return None
    return result if result.run_id == run_id else None
