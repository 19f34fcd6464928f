"""Copies of the database: where they lie, when each was taken, and whether it can be believed.

Reads only, and never through a write-ahead log: a copy is one file. Must not be used on the database itself.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from autopilot.schemas.ids import ticket_id
from autopilot.schemas.machine import FINAL_STATES, State
from autopilot.schemas.units import iso_utc, parse_iso_ms

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Kind = Literal["daily", "migration", "manual"]

BACKUP_FOLDER = "backups"
COUNTED = ("tickets", "history", "attempts", "ledger", "gates", "publications")
"""Tables whose rows are counted: each of them is read to its end."""
_UNFINISHED = ", ".join(f"'{state.value}'" for state in State if state not in FINAL_STATES)
CONTRADICTION = (
    "SELECT short_id, state, last FROM (SELECT short_id, state, (SELECT to_state FROM history"  # noqa: S608 - our words
    " WHERE history.ticket = tickets.short_id ORDER BY id DESC LIMIT 1) AS last FROM tickets"
    f" WHERE state IN ({_UNFINISHED})) WHERE last IS NOT state LIMIT 1"
)
"""Finds an unfinished ticket whose history ends elsewhere; holds for every schema."""
_NAME = re.compile(
    r"^autopilot-(?P<schema>\w+)-(?P<day>\d{4}-\d\d-\d\d)T(?P<h>\d\d)(?P<m>\d\d)(?P<s>\d\d\.\d{3})Z"
    r"\.(?P<kind>daily|migration|manual)(?:\.(?P<number>\d+))?\.db$"
)
_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy as it was found. Without a fault it is good."""

    path: Path
    size_bytes: int
    taken_ms: int
    """UTC epoch ms, from its name where we gave it one, else from its file."""
    schema: str
    rows: tuple[tuple[str, int], ...]
    """How many rows each of `COUNTED` has."""
    fault: str

    @property
    def tickets(self) -> int:
        """How many tickets it holds."""
        return dict(self.rows).get("tickets", 0)


def name_of(schema: str, taken_ms: int, kind: Kind, *, number: int | None = None) -> str:
    """Name a copy; its number says which is the newest of a folder, whatever the clock was set to."""
    end = kind if number is None else f"{kind}.{number}"
    return f"autopilot-{schema}-{iso_utc(taken_ms).replace(':', '')}.{end}.db"


def next_number(folder: Path) -> int:
    """Give the number of the next copy of a folder."""
    return 1 + max(map(_number, folder.glob("*.db")), default=0)


def _number(path: Path) -> int:
    """Give the number of a copy; 0 for one without, which is older than any that has one."""
    match = _NAME.match(path.name)
    return int(match["number"] or 0) if match else 0


def kind_of(path: Path) -> str:
    """Say why we took a copy; empty for a file that we did not name."""
    match = _NAME.match(path.name)
    return match["kind"] if match else ""


def in_folder(folder: Path) -> list[Path]:
    """List what may be a copy, the newest first: by number, and by age only those that have none."""
    found = [path for path in folder.glob("*.db") if path.is_file()]
    return sorted(found, key=lambda path: (_number(path), taken_ms(path), path.name), reverse=True)


def newest_good(folder: Path, *, is_wanted: Callable[[Copy], bool] = lambda _: True) -> Copy | None:
    """Find the newest copy that can be believed, reading each whole until one is found."""
    for path in in_folder(folder):
        copy = inspect(path)
        if not copy.fault and is_wanted(copy):
            return copy
    return None


def inspect(path: Path) -> Copy:
    """Read a copy to its end; whatever is wrong with it becomes its fault and is not raised."""
    size_bytes = 0
    try:
        size_bytes = path.stat().st_size
        if not size_bytes:
            raise ValueError("the file is empty")  # noqa: TRY301 - one way out for all faults
        schema, rows = _read(path)
    except (OSError, sqlite3.Error, ValueError) as exc:
        return Copy(path, size_bytes, taken_ms(path), "", (), str(exc))
    return Copy(path, size_bytes, taken_ms(path), schema, rows, "")


def _read(path: Path) -> tuple[str, tuple[tuple[str, int], ...]]:
    """Give schema and row counts.

    Raises:
        ValueError: the structure is damaged, or it is no database of ours.
        sqlite3.Error: it cannot be read at all.
    """
    # Immutable: no locks, no write-ahead log, no file beside it. Source: https://www.sqlite.org/uri.html
    address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as raw:
        return read_facts(raw)


def read_facts(raw: sqlite3.Connection) -> tuple[str, tuple[tuple[str, int], ...]]:
    """Give the schema and the row counts of an open database, after a look at its whole structure.

    Raises:
        ValueError: the structure is damaged, or it is no database of ours.
        sqlite3.Error: it cannot be read at all.
    """
    (verdict,) = raw.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise ValueError(verdict)
    if raw.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone() is None:
        raise ValueError("it holds no schema of ours")
    version = raw.execute("SELECT version_num FROM alembic_version").fetchone()
    if version is None:
        raise ValueError("it does not say which schema it has")
    contradiction = raw.execute(CONTRADICTION).fetchone()
    if contradiction is not None:
        raise ValueError(told(*contradiction))
    counts = [(table, raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) for table in COUNTED]  # noqa: S608 - our own names
    return str(version[0]), tuple(counts)


def told(number: int, state: str, last: str | None) -> str:
    """Put a contradiction into words."""
    return f"{ticket_id(number)} is {state}, but its history ends at {last}"


def taken_ms(path: Path) -> int:
    """Say when a copy was taken (UTC epoch ms): by the name we gave it, else by its file."""
    match = _NAME.match(path.name)
    if match is not None:
        return parse_iso_ms(f"{match['day']}T{match['h']}:{match['m']}:{match['s']}Z")
    try:
        return path.stat().st_mtime_ns // _NS_PER_MS
    except OSError:
        return 0
