"""What a database holds that an older copy of it lacks: asked before the copy takes its place.

Reads the present file as far as it can be read; a damaged one only costs the answer.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.schemas.ids import ticket_id
from autopilot.schemas.machine import State

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_LIVE = frozenset({State.RUNNING.value, State.PUBLISHING.value})
_NONSENSE = 10**9
"""No queue comes so far; a damaged file may say anything, and the number after it must still be given."""
_STANDING = "SELECT short_id, state, updated_ms, fence FROM tickets"


@dataclass(frozen=True, slots=True)
class Newer:
    """The difference, in ticket ids. Nothing is known where `fault` says why."""

    added: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    fault: str = ""
    last_number: int = 0
    """The highest ticket number that was ever given there."""
    fences: tuple[tuple[int, int], ...] = ()
    """(ticket number, fence) where the present fence is higher."""


def newer_than(copy: Path, database: Path) -> Newer:
    """Compare every ticket of the present database with the copy's."""
    if not database.exists():
        return Newer(fault="there was no database")
    try:
        with closing(_opened(copy)) as old, closing(_opened(database)) as now:
            before = {row[0]: row[1:] for row in old.execute(_STANDING)}
            return _compared(before, {row[0]: row[1:] for row in now.execute(_STANDING)}, _last(now))
    except sqlite3.Error as exc:
        return Newer(fault=str(exc))


def _compared(
    before: Mapping[int, tuple[str, int, int]], now: Mapping[int, tuple[str, int, int]], last: int
) -> Newer:
    return Newer(
        added=tuple(ticket_id(number) for number in sorted(now.keys() - before.keys())),
        moved=tuple(
            ticket_id(number)
            for number in sorted(now.keys() & before.keys())
            if now[number][:2] != before[number][:2]
        ),
        last_number=last,
        fences=tuple(
            (number, now[number][2])
            for number in sorted(now.keys() & before.keys())
            if now[number][2] > before[number][2] and before[number][0] not in _LIVE
        ),
    )


def last_number(database: Path) -> int:
    """Give the highest ticket number that was ever given; 0 where that cannot be read, or is nonsense."""
    if not database.is_file():
        return 0
    try:
        with closing(_opened(database)) as raw:
            found = max(_last(raw), *(row[0] for row in raw.execute("SELECT max(short_id) FROM tickets")))
    except (sqlite3.Error, TypeError, ValueError):
        return 0
    return found if 0 < found < _NONSENSE else 0


def never_again(raw: sqlite3.Connection, newer: Newer, *, last_number: int) -> None:
    """Raise what only ever grows in the copy: ticket numbers and fences are not given a second time.

    Branches, worktrees and processes of the time in between may still be there under them.
    """
    last = max(newer.last_number, last_number)
    if last > _last(raw):
        raw.execute("DELETE FROM sqlite_sequence WHERE name = 'tickets'")
        raw.execute("INSERT INTO sqlite_sequence(name, seq) VALUES ('tickets', ?)", (last,))
    raw.executemany(
        "UPDATE tickets SET fence = max(fence, ?) WHERE short_id = ?",
        [(fence, number) for number, fence in newer.fences],
    )


def _last(raw: sqlite3.Connection) -> int:
    row = raw.execute("SELECT seq FROM sqlite_sequence WHERE name = 'tickets'").fetchone()
    return int(row[0]) if row else 0


def _opened(path: Path) -> sqlite3.Connection:
    """Open without a way to write: a damaged file is not touched."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
