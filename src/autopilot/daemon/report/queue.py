"""What can be told of the queue without a word of a ticket: schema, soundness, counts, sizes, copies.

Reads the file as it lies, with no more rights than to read: nothing is made, upgraded or mended, and what is
damaged is counted as far as it goes. Must not read a text that a person or an agent wrote.
"""

from __future__ import annotations

import fcntl
import os
import re
import sqlite3
from collections import Counter
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from autopilot.config.passing import size_of, status_of
from autopilot.daemon.report.pieces import Facts, Left
from autopilot.daemon.store import copies
from autopilot.daemon.store.damage import LOCK_SUFFIX, SIDECARS
from autopilot.daemon.store.migrate import HEAD
from autopilot.daemon.store.place import MAGIC
from autopilot.schemas.units import iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from autopilot.daemon.checkup.probe import Limit
    from autopilot.daemon.report.pieces import Given, Piece

NAME, _ABOUT = "queue.json", "the queue: schema, soundness, counts; no text of a ticket"
_BUSY_S = 2.0
_ASK_AFTER_STEPS = 10_000
_MOST_FAULTS = 5
_MOST_COPIES = 10
# Source: https://www.sqlite.org/fileformat.html, section 1.3: the file format's write version; 2 is WAL.
_HEAD_BYTES, _WRITE_VERSION_AT, _WITH_LOG = 100, 18, b"\2"
_WORD = re.compile(r"[A-Za-z0-9_-]{1,32}")
_PRAGMAS = ("page_size", "page_count", "freelist_count", "user_version", "auto_vacuum")
_GROUPED: Mapping[str, str] = {
    "tickets": "SELECT state, count(*) FROM tickets GROUP BY state",
    "parked": "SELECT waiting_for, count(*) FROM tickets WHERE state = 'parked' GROUP BY waiting_for",
    "publications": "SELECT state, count(*) FROM publications GROUP BY state",
    "breakers": "SELECT state, count(*) FROM breakers GROUP BY state",
    "switch": "SELECT CASE is_on WHEN 1 THEN 'on' ELSE 'off' END, count(*) FROM switch GROUP BY 1",
    "holds": "SELECT name, count(*) FROM holds GROUP BY name",
    "money_micro_usd": "SELECT kind, sum(micro_usd) FROM ledger GROUP BY kind",
    "attempts": "SELECT state, count(*) FROM attempts GROUP BY state",
}


def queue(given: Given, limit: Limit) -> Iterator[Piece]:
    """Look at the database, its copies, and what was moved aside."""
    database = given.paths.database
    value: dict[str, Any] = {
        "schema_of_this_program": HEAD,
        "files": _files(database),
        "copies": _copies(given),
    }
    value["moved_aside"] = sorted(
        path.name for kind in ("replaced-*", "damaged-*") for path in given.paths.state.glob(kind)
    )
    if not database.exists():
        lock = database.with_name(database.name + LOCK_SUFFIX)
        value["database"] = "is gone, but there was one here" if lock.exists() else "there was never one here"
        yield Left("counts of the queue", "there is no database")
    else:
        value |= _looked_at(database, limit)
    yield Facts(NAME, _ABOUT, value)


def _looked_at(database: Path, limit: Limit) -> dict[str, Any]:
    # Read and closed before SQLite opens it: closing it takes this process's locks away.
    # Source: https://www.sqlite.org/howtocorrupt.html, section 2.2
    with database.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    value: dict[str, Any] = {"begins_like_a_database": head.startswith(MAGIC)}
    value["has_write_ahead_log"] = head[_WRITE_VERSION_AT:][:1] == _WITH_LOG
    with _seat(database) as is_ours:
        if not is_ours:
            return {**value, "fault": "somebody has it to himself: a restore, or an upgrade"}
        return value | _read(database, limit)


def _read(database: Path, limit: Limit) -> dict[str, Any]:
    value: dict[str, Any] = {}
    try:
        with closing(_opened(database)) as raw:
            raw.set_progress_handler(lambda: int(limit.should_stop() is not None), _ASK_AFTER_STEPS)
            for name, ask in (
                ("pragmas", _pragmas),
                ("schema", _schema),
                ("rows", _rows),
                ("counts", _counts),
            ):
                value[name] = _asked(raw, ask)
            value["integrity"] = _asked(raw, _integrity)
    except sqlite3.Error as exc:
        value["fault"] = str(exc)
    return value


def _opened(database: Path) -> sqlite3.Connection:
    """Open it for reading alone; one that nobody has open leaves no file beside it.

    Source: https://www.sqlite.org/wal.html, section 5 "Read-only databases"; uri.html, `immutable`
    """
    how = "mode=ro" if database.with_name(f"{database.name}-wal").exists() else "mode=ro&immutable=1"
    address = f"{database.absolute().as_uri()}?{how}"
    return sqlite3.connect(address, uri=True, timeout=_BUSY_S, check_same_thread=False)


@contextmanager
def _seat(database: Path) -> Iterator[bool]:
    """Be one of those who have the store open, where its lock file can be read; say whether nobody minds."""
    try:
        descriptor = os.open(database.with_name(database.name + LOCK_SUFFIX), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield True
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            is_ours = True
        except OSError:
            is_ours = False
        yield is_ours
    finally:
        os.close(descriptor)


def _asked(raw: sqlite3.Connection, ask: Any) -> Any:  # noqa: ANN401 - a question, and whatever it gives
    try:
        return ask(raw)
    except sqlite3.Error as exc:
        return {"fault": str(exc)}


def _pragmas(raw: sqlite3.Connection) -> dict[str, Any]:
    return {name: raw.execute(f"PRAGMA {name}").fetchone()[0] for name in _PRAGMAS}


def _schema(raw: sqlite3.Connection) -> str | None:
    row = raw.execute("SELECT version_num FROM alembic_version").fetchone()
    return None if row is None else _word(row[0])


def _rows(raw: sqlite3.Connection) -> dict[str, Any]:
    counted = {}
    for table in copies.COUNTED:
        statement = f"SELECT count(*) FROM {table}"  # noqa: S608 - our own names
        counted[table] = _asked(raw, lambda conn, text=statement: conn.execute(text).fetchone()[0])
    return counted


def _counts(raw: sqlite3.Connection) -> dict[str, Any]:
    return {
        name: _asked(raw, lambda conn, text=statement: _by_word(conn.execute(text)))
        for name, statement in _GROUPED.items()
    }


def _by_word(rows: Iterable[tuple[object, int]]) -> dict[str, int]:
    counted = Counter[str]()
    for word, count in rows:
        counted[_word(word)] += count
    return dict(counted)


def _word(found: object) -> str:
    """Give a state; in pages that are mixed up, anything may stand in its place."""
    return str(found) if _WORD.fullmatch(str(found)) else "<something else>"


def _integrity(raw: sqlite3.Connection) -> dict[str, Any]:
    """Read the whole structure, and compare unfinished tickets with their history."""
    try:
        said = [str(row[0]) for row in raw.execute(f"PRAGMA quick_check({_MOST_FAULTS})")]
    except sqlite3.OperationalError as exc:
        if exc.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            return {"quick_check": "not finished within a report's time: run autopilot doctor"}
        raise
    found = raw.execute(copies.CONTRADICTION).fetchone()
    told = None if found is None else copies.told(int(found[0]), _word(found[1]), _word(found[2]))
    return {"quick_check": said, "contradiction": told}


def _files(database: Path) -> dict[str, Any]:
    found = (database.with_name(database.name + end) for end in ("", *SIDECARS, LOCK_SUFFIX))
    return {path.name: seen.st_size for path in found if (seen := status_of(path)) is not None}


def _copies(given: Given) -> list[dict[str, Any]]:
    """List copies by name, time and size; none is read, for that may take minutes."""
    folder = given.paths.state / copies.BACKUP_FOLDER
    return [
        {"name": path.name, "taken": iso_utc(copies.taken_ms(path)), "size_bytes": size_of(path)}
        for path in copies.in_folder(folder)[:_MOST_COPIES]
    ]
