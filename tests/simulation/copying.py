"""The daily copies of the queue in a week: made by the daemon's own part, on the world's one thread.

Judges by the clock on the wall and by what lies in the folder, never by the product's own rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autopilot.daemon import backups
from autopilot.daemon.store import backup, copies
from autopilot.schemas.errors import ConfigError
from tests.simulation.ends import Patch

if TYPE_CHECKING:
    from tests.simulation.week import Week

AT, KEPT = "08:00", 7
_LATE_MS = 90 * 60_000
"""After the machine is there and could write: one that could not is tried again after an hour."""
_MINE = "before-the-holidays.db"


class Copied:
    """One observer of one week's copies."""

    def __init__(self, week: Week) -> None:
        self._week = week
        self._folder = week.paths.state / copies.BACKUP_FOLDER
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._mine = self._folder / _MINE
        self._mine.write_bytes(b"a person's own")
        self._made: list[tuple[int, Path]] = []

    def make(self, real: Callable[..., copies.Copy], *args: Any, **about: Any) -> copies.Copy:
        """Let one be made, unless the disk is full."""
        week = self._week
        if week.disk_is_full and week.full != "low":
            raise ConfigError("backup-unwritable", "the disk is full", hint="free some")
        made = real(*args, **about)
        self._made.append((week.clock.wall_ms, made.path))
        week.marks["copy"] += 1
        return made

    def reckon(self, there_from: Callable[[int], int]) -> Iterator[str]:
        """One a day, as soon as it could be; of them the newest are there, and what a person put there."""
        due = [*self._week.calendar.daily(AT)]
        ends = [*(at_ms for _, at_ms in due[1:]), self._week.end_ms]
        for (day, due_ms), until_ms in zip(due, ends, strict=True):
            found = [at_ms for at_ms, _ in self._made if due_ms <= at_ms < until_ms]
            if len(found) != 1:
                yield f"{day} has {len(found)} copies of the queue"
            elif found[0] > there_from(due_ms) + _LATE_MS:
                yield f"the copy of {day} came at {self._week.calendar.shown(found[0])}"
        there = [path for _, path in self._made if path.exists()]
        if there != [path for _, path in self._made[-KEPT:]]:
            yield f"of {len(self._made)} copies these are there: {[path.name for path in there]}"
        if not self._mine.exists():
            yield "a file that a person put beside the copies is gone"


def around_copies(week: Week) -> tuple[Patch, ...]:
    """A copy is made at once: the world has one thread."""
    return (
        (backups, "begin", lambda copying: copying.run()),
        (backup, "make", partial(week.copied.make, backup.make)),
    )
