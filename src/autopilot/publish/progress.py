"""The publisher's progress lines, `publish-events.jsonl` beside the spec.

A line says that something *has happened*; a reader may rely on it. Must not carry text from the ticket, the
agent or a server: names, numbers and object names only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config.journal import append_line

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.schemas.events import Event


@dataclass(frozen=True, slots=True)
class Progress:
    """Appends lines for one publication."""

    path: Path
    clock: Clock
    publication: str

    def note(self, event: Event, **facts: str | int | bool | None) -> None:
        """Append one line.

        Raises:
            OSError: the line could not be written.
        """
        append_line(
            self.path, {"ts": self.clock.now_ms(), "event": event, "publication": self.publication, **facts}
        )
