"""One unit of work: a transaction, the moment it happens at, and what to log once it has happened.

A line about something that was rolled back would be a lie, so notes are kept until after the commit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from autopilot.config.logs import logger

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from sqlalchemy import Connection

    from autopilot.config.entropy import Entropy
    from autopilot.daemon.store.engine import Store
    from autopilot.schemas.events import Event

    Fact = str | int | bool | None
    Level = Literal["debug", "info", "warning", "error"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Note:
    """A log line to be."""

    level: Level
    event: Event
    facts: tuple[tuple[str, Fact], ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """What a step of one transaction works with."""

    conn: Connection
    now_ms: int
    entropy: Entropy
    notes: list[Note] = field(default_factory=list)

    def note(self, event: Event, *, level: Level = "info", **facts: Fact) -> None:
        """Log this after the commit."""
        self.notes.append(Note(level, event, tuple(facts.items())))


def in_one(store: Store, work: Callable[[Unit], T]) -> T:
    """Run `work` as one transaction, again from its start while the database is busy; then log."""

    def attempt(conn: Connection) -> tuple[T, Unit]:
        unit = Unit(conn, store.clock.now_ms(), store.entropy)
        return work(unit), unit

    value, unit = store.transact(attempt)
    log = logger("store")
    write = {"debug": log.debug, "info": log.info, "warning": log.warning, "error": log.error}
    for note in unit.notes:
        write[note.level](note.event, **dict(note.facts))
    return value
