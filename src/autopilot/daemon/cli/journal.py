"""Shows the journals of a run: one line per event, with the time since the start and the spend so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autopilot.config.journal import read_lines
from autopilot.config.paths import EVENTS_FILE, PUBLISH_EVENTS_FILE, PUBLISH_FOLDER, RESULT_FILE
from autopilot.daemon.cli import console, shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MAX_FACT_CHARS = 160
_HIDDEN_FACTS = frozenset({"ts", "event", "run", "cost_micro_usd", "known"})
_SPENT = "agent.spent"


class Reader:
    """Reads a run's journals, the runner's and then the publisher's, each from where it stopped last."""

    def __init__(self, folder: Path, *, as_json: bool) -> None:
        """Start at the beginning."""
        self._folder, self._as_json = folder, as_json
        files = (folder / EVENTS_FILE, folder / PUBLISH_FOLDER / PUBLISH_EVENTS_FILE)
        self._offsets = dict.fromkeys(files, 0)
        self._started_ms: int | None = None
        self.spent = 0

    @property
    def is_over(self) -> bool:
        """Tell whether the run has left its result."""
        return (self._folder / RESULT_FILE).exists()

    def elapsed(self, now_ms: object) -> str:
        """Show how long after the start a moment is."""
        if not isinstance(now_ms, int) or self._started_ms is None:
            return "?"
        return shape.since(self._started_ms, now_ms)

    def print_new(self) -> None:
        """Print the lines that were added since the last time."""
        for entry in self._new():
            self._take(entry)
            console.say_json_line(entry) if self._as_json else console.say(self.line(entry))
        console.flush()

    def line(self, entry: Mapping[str, Any]) -> str:
        """Show one entry. Tolerates events it does not know."""
        facts = " ".join(fact(name, value) for name, value in entry.items() if is_worth_telling(name, value))
        event = console.line(str(entry.get("event", "?")))
        told = f"{self.elapsed(entry.get('ts')):>8}  {shape.usd(self.spent):>8}  {event:<18} {facts}"
        return told.rstrip()

    def _new(self) -> Iterator[Mapping[str, Any]]:
        for file in self._offsets:
            while (reading := read_lines(file, self._offsets[file])).offset != self._offsets[file]:
                self._offsets[file] = reading.offset
                yield from reading.entries

    def _take(self, entry: Mapping[str, Any]) -> None:
        if self._started_ms is None and isinstance(entry.get("ts"), int):
            self._started_ms = entry["ts"]
        cost = entry.get("cost_micro_usd")
        if entry.get("event") == _SPENT and isinstance(cost, int):
            self.spent = max(self.spent, cost)


def is_worth_telling(name: str, value: object) -> bool:
    """Tell whether a fact says something to a person."""
    return name not in _HIDDEN_FACTS and value is not None and value != ""


def fact(name: str, value: object) -> str:
    """Show one fact on one line, cut where it is long."""
    if name.endswith("_micro_usd") and isinstance(value, int):
        return f"{name.removesuffix('_micro_usd')}={shape.usd(value)}"
    text = console.line(str(value))
    return f"{name}={text if len(text) <= MAX_FACT_CHARS else text[: MAX_FACT_CHARS - 1] + '…'}"
