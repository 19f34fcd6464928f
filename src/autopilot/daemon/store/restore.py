"""Puts a copy of the database in the place of the present one, which is moved aside and never deleted.

The copy is rebuilt beside the database first, with the log that may lie beside it, and read to its end: what
was looked at is what comes into place. Must not be used while anybody has the store open.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.atomic import flush, sync_folder
from autopilot.config.logs import logger
from autopilot.daemon.store import copies, migrate, present
from autopilot.daemon.store.aside import former, is_anything_there, moved_aside
from autopilot.daemon.store.copies import Copy
from autopilot.daemon.store.damage import is_damage
from autopilot.daemon.store.traces import RESTORE, Carried, Traces, carry
from autopilot.schemas.errors import ConfigError, RefusedError
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from autopilot.config.clock import Clock
    from autopilot.daemon.store.present import Newer
    from autopilot.daemon.store.traces import Occasion

_FILE_MODE = 0o600
_STAGE = ".restore-"
_NOTHING_LEFT = Traces()


@dataclass(frozen=True, slots=True)
class Restored:
    """What is in place now, where the former database went, and what it had that this one lacks."""

    copy: Copy
    set_aside: Path | None
    newer: Newer
    carried: Carried


def restore(database: Path, clock: Clock, *, source: Path | None, traces: Traces = _NOTHING_LEFT) -> Restored:
    """Bring a copy back; by default the newest good one of our own.

    Args:
        database: where it goes.
        clock: names the folder of what was there.
        source: the copy.
        traces: what this machine did, by its folders; what the copy does not know of it is entered.

    Raises:
        RefusedError: `database-in-use`, or `backup-unknown`: there is no copy.
        ConfigError: `backup-unsound`, `backup-newer` or `database-unwritable`; nothing was changed.
    """
    with migrate.sole_seat(database), _writing(database):
        for left_over in database.parent.glob(f"{_STAGE}*"):
            shutil.rmtree(left_over)
        chosen = source or _newest(database)
        with tempfile.TemporaryDirectory(prefix=_STAGE, dir=database.parent) as folder:
            staged = _staged(chosen, Path(folder) / database.name)
            newer = present.newer_than(staged.path, former(database))
            carried = tell(staged.path, newer, traces, RESTORE, now_ms=clock.now_ms())
            flush_copy(staged.path)
            with _moved_aside(database, clock) as aside:
                staged.path.rename(database)
                sync_folder(database.parent)
    logger("store").warning(Event.STORE_RESTORED, path=str(chosen), tickets=staged.tickets)
    found = Copy(chosen, staged.size_bytes, copies.taken_ms(chosen), staged.schema, staged.rows, "")
    return Restored(found, aside, newer, carried)


def _newest(database: Path) -> Path:
    folder = database.parent / copies.BACKUP_FOLDER
    found = copies.newest_good(folder, is_wanted=lambda copy: copy.schema in migrate.REVISIONS)
    if found is None:
        what = f"there is no good backup in {folder}"
        raise RefusedError("backup-unknown", what, hint="name a file: autopilot restore FILE")
    return found.path


def _staged(source: Path, target: Path) -> Copy:
    """Rebuild a copy beside the database, with the changes that its own write-ahead log still holds.

    Raises:
        RefusedError: `backup-unknown`: there is no such file.
        ConfigError: `backup-unsound` or `backup-newer`.
    """
    if not source.is_file():
        raise RefusedError("backup-unknown", f"there is no file {source}", hint="autopilot backup list")
    for suffix in ("", "-wal", "-journal"):
        part = source.with_name(source.name + suffix)
        if part.is_file():
            shutil.copyfile(part, target.with_name(target.name + suffix))
    try:
        if not source.stat().st_size:
            raise ValueError("the file is empty")  # noqa: TRY301 - one way out for all of these
        with closing(sqlite3.connect(target, isolation_level=None)) as raw:
            schema, rows = copies.read_facts(raw)
            raw.execute("PRAGMA journal_mode=WAL")
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except (ValueError, sqlite3.Error) as exc:
        if isinstance(exc, sqlite3.Error) and not is_damage(exc):
            raise OSError(str(exc)) from exc  # no room to rebuild it, say: no fault of the backup
        what = f"the backup {source} cannot be believed: {exc}"
        raise ConfigError("backup-unsound", what, hint="autopilot backup list names the good ones") from exc
    if schema not in migrate.REVISIONS:
        what = f"the backup {source} has schema {schema}, newer than this program's {migrate.HEAD}"
        raise ConfigError("backup-newer", what, hint="install the newer version, or take an older backup")
    return Copy(target, target.stat().st_size, 0, schema, rows, "")


def tell(path: Path, newer: Newer, traces: Traces, occasion: Occasion, *, now_ms: int) -> Carried:
    """Tell a copy, or a new database, what was given, spent and pushed; a person is who lets it start."""
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA foreign_keys=1")
        raw.execute("BEGIN IMMEDIATE")
        carried = carry(raw, traces, occasion, now_ms=now_ms)
        present.never_again(raw, newer, last_number=traces.last_number)
        raw.execute("UPDATE switch SET is_on = 0, changed_ms = ?, by = ?", (now_ms, occasion.by))
        raw.execute("COMMIT")
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return carried


def _moved_aside(database: Path, clock: Clock) -> AbstractContextManager[Path | None]:
    """Move away what is there, also logs whose database is gone; the lock stays, for we sit on it."""
    return moved_aside(database, clock, why="replaced") if is_anything_there(database) else nullcontext()


def flush_copy(path: Path) -> None:
    """Make sure of a whole file, before it gets its name."""
    path.chmod(_FILE_MODE)
    handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        flush(handle)
    finally:
        os.close(handle)


@contextmanager
def _writing(database: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        what = f"the backup cannot be put in place of {database}: {exc}"
        raise ConfigError("database-unwritable", what, hint="free disk space; nothing is lost") from exc
