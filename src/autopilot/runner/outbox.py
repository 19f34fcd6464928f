"""The only way up: `events.jsonl`, which grows, and `result.json`, which appears once and whole.

Must not be read by the runner itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config.atomic import write_atomically
from autopilot.config.journal import append_line
from autopilot.config.paths import EVENTS_FILE, RESULT_FILE
from autopilot.config.room import once_there_is_room

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic import BaseModel

    from autopilot.config.clock import Clock
    from autopilot.schemas.events import Event
    from autopilot.schemas.run import RunResult

_MAX_TEXT_CHARS = 4000


@dataclass(frozen=True, slots=True)
class Outbox:
    """The run folder's two files."""

    run_dir: Path
    run_id: str
    clock: Clock

    def tell(self, event: Event, facts: Mapping[str, object] | None = None) -> None:
        """Append one event. Facts are text, numbers, booleans, None, or lists of these.

        Raises:
            OSError: the line could not be written.
        """
        shown = {name: _bounded(value) for name, value in (facts or {}).items()}
        entry = {"ts": self.clock.now_ms(), "event": event.value, "run": self.run_id, **shown}
        append_line(self.run_dir / EVENTS_FILE, entry)

    def write_result(self, result: RunResult) -> None:
        """Say how the run ended; the daemon acts on this file alone. A full disk is waited out.

        Raises:
            OSError: it could not be written, and not for want of room.
        """
        once_there_is_room(lambda: write_record(self.run_dir / RESULT_FILE, result))


def write_record(path: Path, record: BaseModel) -> None:
    """Put a record into its file, whole.

    Raises:
        OSError: it could not be written.
    """
    write_atomically(path, record.model_dump_json(indent=2).encode() + b"\n")


def _bounded(value: object) -> object:
    if isinstance(value, str) and len(value) > _MAX_TEXT_CHARS:
        return value[: _MAX_TEXT_CHARS - 1] + "…"
    return value
