"""Says what is wrong with a database file, in errors that name who acts.

Must not mend anything by itself: a queue that cannot be read is never taken for an empty one.
"""

from __future__ import annotations

import shlex
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import exc as sa_exc

from autopilot.config.room import has_no_descriptor, has_no_room, is_full
from autopilot.daemon.store import copies
from autopilot.schemas.errors import ConfigError, RefusedError, TransientError
from autopilot.schemas.units import iso_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import TracebackType

    from autopilot.daemon.store.copies import Copy
    from autopilot.schemas.errors import AutopilotError

LOCK_SUFFIX = ".lock"
SIDECARS = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database file; another file's are poison to it."""
_PRIMARY_CODE = 0xFF  # an extended result code keeps the primary one in its low byte
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_UNUSABLE = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
)


def damaged(database: Path, what: str) -> ConfigError:
    """Build the error for a file that cannot be trusted, with the way out that loses least."""
    return ConfigError(
        "database-damaged", f"the database {database} is damaged: {what}", hint=_way_out(database)
    )


def missing(database: Path) -> ConfigError:
    """Build the error for a database that was here once and is gone."""
    what = f"the database {database} is gone, but there was one here"
    return ConfigError("database-missing", what, hint=_way_out(database))


def exchanged(database: Path) -> ConfigError:
    """Build the error for another file that was put in the database's place while it was open."""
    what = f"the database {database} was exchanged: another file was put in its place while it was open"
    itself = (
        f"`autopilot restore {shlex.quote(str(database))}` takes that file up and tells it what ran since"
    )
    return ConfigError("database-exchanged", what, hint=f"{itself}; or {way_back(database)}")


def is_damage(error: sqlite3.Error) -> bool:
    """Tell whether SQLite says that a file's content is wrong."""
    return (getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE) in _DAMAGED


def way_back(database: Path, *, is_wanted: Callable[[Copy], bool] = lambda _: True) -> str:
    """Name the newest good backup and the command that puts it in place."""
    copy = copies.newest_good(database.parent / copies.BACKUP_FOLDER, is_wanted=is_wanted)
    if copy is None:
        return "restore it from a backup of your own: `autopilot restore FILE` (we hold no good one)"
    holds = f"{copy.tickets} tickets, {iso_utc(copy.taken_ms)}"
    return f"`autopilot restore {shlex.quote(str(copy.path))}` brings back the newest good backup ({holds})"


def _way_out(database: Path) -> str:
    return f"{way_back(database)}; or give the queue up: `autopilot doctor --set-aside` moves its files away"


def refuse_empty(database: Path) -> None:
    """Refuse an empty file, which SQLite would take for a new database and whose log it would drop.

    Looks at the size only. Whoever opens and closes a database file by hand takes the locks away that SQLite
    holds on it in the same process. Source: https://www.sqlite.org/howtocorrupt.html, section 2.2

    Raises:
        ConfigError: `database-damaged`.
    """
    if database.stat().st_size == 0:
        raise damaged(database, "the file is empty")


class Translated:
    """Turns SQLite's errors into ours; broken constraints pass, for the caller knows what they mean.

    Raises:
        ConfigError: `database-damaged` or `database-unwritable`.
        TransientError: `database-busy`: another process held the write lock for longer than we wait;
            `database-full`: no room on the disk.
        RefusedError: `value-unstorable`: a number of more than 64 bits, or half a character in a text.

    Source: https://www.sqlite.org/rescode.html
    """

    __slots__ = ("_database",)

    def __init__(self, database: Path) -> None:
        """Take the file that the errors are about."""
        self._database = database

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raise what an error means, if it is one of those."""
        if error is not None and (meant := _meaning(self._database, error)) is not None:
            raise meant from error


def _meaning(database: Path, error: BaseException) -> AutopilotError | None:
    match error:
        case sa_exc.TimeoutError():
            return _busy(database)
        case OverflowError() | UnicodeEncodeError():
            what = f"the database cannot hold that value: {error}"
            return RefusedError("value-unstorable", what, hint="mend the number or the text")
        case sa_exc.DBAPIError():
            return _meaning_of_code(database, error.orig)
        case sqlite3.Error():  # where the driver is used by itself
            return _meaning_of_code(database, error)
        case _:
            return None


def _meaning_of_code(database: Path, error: BaseException | None) -> AutopilotError | None:
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE
    if code in _BUSY:
        return _busy(database)
    if code in _DAMAGED:
        return damaged(database, str(error))
    # Files beside the database that find no room are told as an I/O error.
    if code == sqlite3.SQLITE_FULL or (code in _UNUSABLE and has_no_room(database.parent)):
        return _full(database)
    if code == sqlite3.SQLITE_CANTOPEN and has_no_descriptor():
        what = f"no descriptor is left to open the database {database} with"
        return TransientError("descriptors-gone", what, hint="raise the limit: ulimit -n")
    return unwritable(database, str(error)) if code in _UNUSABLE else None


@contextmanager
def openable(database: Path) -> Iterator[None]:
    """Turn the machine's refusals into ours while files beside the database are opened, and only then.

    Raises:
        ConfigError: `database-unwritable`.
        TransientError: `database-full`.
    """
    try:
        yield
    except OSError as exc:
        raise (_full(database) if is_full(exc) else unwritable(database, str(exc))) from exc


def unwritable(database: Path, why: str) -> ConfigError:
    """Build the error for a database that the machine does not let us use."""
    what = f"the database {database} cannot be written: {why}"
    return ConfigError("database-unwritable", what, hint="check the owner and the disk of its folder")


def _full(database: Path) -> TransientError:
    what = f"no room left to write the database {database}"
    return TransientError("database-full", what, hint="free disk space; nothing that was confirmed is lost")


def _busy(database: Path) -> TransientError:
    what = f"the database {database} stayed locked by another process"
    return TransientError("database-busy", what, hint="try again; `autopilot doctor` names who has it open")
