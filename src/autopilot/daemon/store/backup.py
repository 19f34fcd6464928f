"""Makes copies of the database while others go on using it, and removes old ones of our own.

A copy has its name only once it was written to the disk and read back. Must not keep a writer waiting: what
is copied is one snapshot, read in small steps.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from autopilot.config.atomic import flush, make_folder, sync_folder
from autopilot.config.logs import logger
from autopilot.daemon.store import copies
from autopilot.daemon.store.damage import damaged, is_damage
from autopilot.schemas.errors import ConfigError, RefusedError, TransientError
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.daemon.store.copies import Copy, Kind

STEP_PAGES = 256
PAUSE_S = 0.002
_FILE_MODE = 0o600
_FOLDER_MODE = 0o700
_PART = ".part"


class StoppedError(Exception):
    """The copy was given up because the caller is going."""


def make(
    database: Path, *, taken_ms: int, kind: Kind, schema: str, stop: threading.Event | None = None
) -> Copy:
    """Copy the database into its own folder of backups.

    Args:
        database: the file; others may write to it meanwhile.
        taken_ms: UTC epoch ms, for the name.
        kind: why.
        schema: the revision it has, for the name.
        stop: set by another thread to give up.

    Raises:
        TransientError: `backup-under-way`: another process is making one.
        ConfigError: `backup-unsound`: the copy cannot be believed; nothing was kept of it.
            `backup-unwritable`: there is no room, say. `database-damaged`: the original cannot be read.
        StoppedError: `stop` was set.
    """
    folder = database.parent / copies.BACKUP_FOLDER
    with _written(database):
        make_folder(folder, mode=_FOLDER_MODE)
        with _alone(folder):
            for left_over in folder.glob(f".*{_PART}"):
                left_over.unlink()
            name = copies.name_of(schema, taken_ms, kind, number=copies.next_number(folder))
            return write(database, folder / name, stop=stop)


def write(database: Path, target: Path, *, stop: threading.Event | None = None) -> Copy:
    """Copy the database to a file that must not be there yet.

    Raises:
        RefusedError: `backup-exists`.
        ConfigError: `backup-unsound`, `backup-unwritable` or `database-damaged`.
        StoppedError: `stop` was set.
    """
    if os.path.lexists(target):
        raise _taken(target)
    part = target.with_name(f".{target.name}.{os.getpid()}{_PART}")
    with _written(database):
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE))
        try:
            expected = _copy(database, part, stop or threading.Event())
            found = _read_back(database, part, expected)
            _named(part, target)
        finally:
            part.unlink(missing_ok=True)
        sync_folder(target.parent)
    logger("store").info(Event.BACKUP_MADE, path=str(target), tickets=found.tickets)
    return replace(found, path=target, taken_ms=copies.taken_ms(target))


def _named(part: Path, target: Path) -> None:
    """Give the copy its name, unless somebody else took it meanwhile."""
    try:
        target.hardlink_to(part)
    except FileExistsError as exc:
        raise _taken(target) from exc
    except OSError:  # a stick, say, whose file system knows no links
        if os.path.lexists(target):
            raise _taken(target) from None
        part.rename(target)


def _taken(target: Path) -> RefusedError:
    what = f"{target} is there already"
    return RefusedError("backup-exists", what, hint="name a file that is not there yet")


def prune(folder: Path, *, keep: int, kind: Kind | None = None) -> list[Path]:
    """Remove the oldest copies that we named, beyond `keep` of each kind; call it after a good one was made.

    Kinds are counted apart, so that seven by hand in one evening do not drive the week's daily ones out; with
    `kind` only those of that kind are looked at.

    Returns:
        What was removed. Files that a person put there stay.
    """
    seen: dict[str, int] = {}
    removed: list[Path] = []
    for path in copies.in_folder(folder):
        is_of = copies.kind_of(path)
        seen[is_of] = seen.get(is_of, 0) + 1
        if is_of and kind in {is_of, None} and seen[is_of] > keep:
            path.unlink()
            removed.append(path)
            logger("store").info(Event.BACKUP_REMOVED, path=str(path))
    return removed


def _copy(database: Path, part: Path, stop: threading.Event) -> tuple[tuple[str, int], ...]:
    """Copy one snapshot in steps; give the row counts of the original at that moment.

    The transaction that stays open is what makes it one snapshot: without it SQLite begins anew after each
    write of somebody else, on a busy queue for ever. Source: https://www.sqlite.org/c3ref/backup_finish.html
    """

    def pause(_status: int, _remaining: int, _total: int) -> None:
        if stop.wait(PAUSE_S):
            raise StoppedError

    with closing(_opened(database)) as source, closing(_opened(part)) as copy:
        source.execute("PRAGMA wal_autocheckpoint=0")
        copy.execute("PRAGMA journal_mode=OFF")  # a copy that was interrupted is thrown away
        copy.execute("PRAGMA synchronous=OFF")  # it is flushed once, at its end
        source.execute("BEGIN")
        counts = [source.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in copies.COUNTED]  # noqa: S608 - our own names
        source.backup(copy, pages=STEP_PAGES, progress=pause)
        source.execute("ROLLBACK")
    return tuple(zip(copies.COUNTED, counts, strict=True))


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def _read_back(database: Path, part: Path, expected: tuple[tuple[str, int], ...]) -> Copy:
    """Flush the copy to the disk and read it to its end."""
    handle = os.open(part, os.O_RDWR | os.O_CLOEXEC)
    try:
        flush(handle)
    finally:
        os.close(handle)
    found = copies.inspect(part)
    fault = found.fault or ("" if found.rows == expected else "it lacks rows of the original")
    if fault:
        what = f"a copy of {database} cannot be believed: {fault}"
        raise ConfigError("backup-unsound", what, hint="autopilot doctor reads the database itself")
    return found


@contextmanager
def _written(database: Path) -> Iterator[None]:
    """Tell trouble with the copy from damage of the original, which ends a daemon."""
    try:
        yield
    except sqlite3.Error as exc:
        if is_damage(exc):
            raise damaged(database, str(exc)) from exc
        raise _unwritable(database, exc) from exc
    except OSError as exc:
        raise _unwritable(database, exc) from exc


def _unwritable(database: Path, exc: Exception) -> ConfigError:
    what = f"a backup of {database} cannot be written: {exc}"
    return ConfigError("backup-unwritable", what, hint="free disk space, or look at the folder's owner")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one process at a time write into the folder: what it finds half-written there is left over."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not _is_mine(handle):
            what = "another process is making a backup"
            raise TransientError("backup-under-way", what, hint="try again when it is done")
        yield
    finally:
        os.close(handle)


def _is_mine(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
