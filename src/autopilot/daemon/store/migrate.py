"""Brings the database to this program's schema: makes it, upgrades it with a backup first, or refuses.

Forward only. Must not be used while another process has the store open; a file lock sees to that.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from contextlib import ExitStack, closing, contextmanager
from importlib import resources
from typing import TYPE_CHECKING

from autopilot.config.atomic import flush, sync_folder
from autopilot.config.logs import logger
from autopilot.daemon.store import backup, connect
from autopilot.daemon.store.damage import LOCK_SUFFIX, damaged, missing, refuse_empty, way_back
from autopilot.schemas.errors import ConfigError, RefusedError
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.daemon.store.lines import Lines

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006")
"""Every schema this program knows, oldest first. A test holds it against the migrations."""
HEAD = REVISIONS[-1]

_CREATED = b"a database was made here\n"
_FILE_MODE = 0o600
_LOCK_TRIES = 500
_MAKING_TRIES = 3000
"""While the first database is being made there is nothing to refuse: whoever is slower waits a minute."""
_LOCK_POLL_S = 0.02
_SOLE_TRIES = 100
_KEPT = 7


def take_seat(database: Path, clock: Clock) -> int:
    """Lock the store against a change of schema and bring it to this program's one.

    Returns:
        A file descriptor; while it is open, nobody migrates the database.

    Raises:
        ConfigError: `database-damaged`, `database-missing`, `database-newer` or `database-in-use`.
    """
    lock = database.with_name(database.name + LOCK_SUFFIX)
    seat = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)
    with ExitStack() as undo:
        undo.callback(os.close, seat)
        _settle(database, seat, clock)
        if not os.pread(seat, 1, 0):
            os.pwrite(seat, _CREATED, 0)
            flush(seat)
        undo.pop_all()
    return seat


@contextmanager
def sole_seat(database: Path) -> Iterator[None]:
    """Keep everybody else from opening the store inside the block.

    Raises:
        RefusedError: `database-in-use`: a process has it open.
    """
    lock = database.with_name(database.name + LOCK_SUFFIX)
    seat = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)
    try:
        pause = threading.Event()
        tries = _SOLE_TRIES
        while not _is_locked(seat, fcntl.LOCK_EX):
            tries -= 1
            if not tries:
                what = f"another process has the database {database} open"
                hint = "stop the daemon (`autopilot daemon stop`) and wait for other commands to end"
                raise RefusedError("database-in-use", what, hint=hint)
            pause.wait(_LOCK_POLL_S)
        yield
        if not os.pread(seat, 1, 0):
            os.pwrite(seat, _CREATED, 0)
            flush(seat)
    finally:
        os.close(seat)


def _settle(database: Path, seat: int, clock: Clock) -> None:
    """Come to hold the shared lock on a database of our schema, whoever of several brings it there."""
    pause = threading.Event()
    for tried in range(_MAKING_TRIES):
        if _is_locked(seat, fcntl.LOCK_SH):
            found = _revision(database, seat)
            if found == HEAD:
                return
            if found is not None and tried >= _LOCK_TRIES:
                break
            if _is_locked(seat, fcntl.LOCK_EX):
                _bring_up(database, seat, clock)
                fcntl.flock(seat, fcntl.LOCK_SH)  # who slips in between finds nothing to do
                return
        pause.wait(_LOCK_POLL_S)
    what = f"the database {database} has an older schema and another process has it open"
    hint = "stop the daemon (`autopilot off`, then stop the service), then try again"
    raise ConfigError("database-in-use", what, hint=hint)


def _is_locked(seat: int, kind: int) -> bool:
    """Try for the lock; the one held before is given up either way. Source: flock(2)."""
    try:
        fcntl.flock(seat, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _revision(database: Path, seat: int) -> str | None:
    """Read which schema the file has; None when there is no database yet and never was."""
    if not database.exists():
        left_over = database.with_name(database.name + "-wal").exists()
        if left_over or os.pread(seat, 1, 0):
            raise missing(database)
        return None
    refuse_empty(database)
    with closing(connect.reader(database)) as lines:
        found = _version_in(lines)
    if found is None:
        raise damaged(database, "it holds no schema of ours")
    if found not in REVISIONS:
        what = f"the database {database} has schema {found}, newer than this program's {HEAD}"
        back = way_back(database, is_wanted=lambda copy: copy.schema in REVISIONS)
        raise ConfigError("database-newer", what, hint=f"install the newer version again; or {back}")
    return found


def _version_in(lines: Lines) -> str | None:
    with lines.transaction() as conn:
        if not conn.exec_driver_sql("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").scalar():
            return None
        version = conn.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return None if version is None else str(version)


def _bring_up(database: Path, seat: int, clock: Clock) -> None:
    found = _revision(database, seat)  # again: another process may have been faster
    if found == HEAD:
        return
    if found is None:
        make(database)
        return
    made = backup.make(database, taken_ms=clock.now_ms(), kind="migration", schema=found)
    backup.prune(made.path.parent, keep=_KEPT, kind="migration")  # a start that fails is tried for ever
    _upgrade(database)
    logger("store").info(Event.STORE_MIGRATED, from_schema=found, to_schema=HEAD)


def make(database: Path) -> None:
    """Build the database aside and rename it into place, so that no crash leaves an empty file behind."""
    draft = database.with_name(database.name + ".new")
    for suffix in ("", "-wal", "-shm", "-journal"):
        draft.with_name(draft.name + suffix).unlink(missing_ok=True)
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE))
    with closing(sqlite3.connect(draft)) as raw:
        raw.execute("PRAGMA auto_vacuum=INCREMENTAL")  # before anything else: later it takes a VACUUM
        raw.execute("PRAGMA journal_mode=WAL")
    _upgrade(draft)
    draft.rename(database)
    sync_folder(database.parent)


def _upgrade(database: Path) -> None:
    """Run what is missing in one transaction. Alembic is needed, and imported, only here."""
    from alembic import command  # noqa: PLC0415 - a start that migrates nothing must not pay for it
    from alembic.config import Config  # noqa: PLC0415 - as above

    engine = connect.migrator(database)
    with resources.as_file(resources.files("autopilot.daemon.store") / "migrations") as scripts:
        config = Config()
        config.set_main_option("script_location", str(scripts).replace("%", "%%"))
        config.set_main_option("path_separator", "os")
        try:
            with engine.connect() as conn, conn.begin():
                config.attributes["connection"] = conn
                command.upgrade(config, "head")
                broken = conn.exec_driver_sql("PRAGMA foreign_key_check").first()
                if broken is not None:
                    raise damaged(database, f"a row of {broken[0]} refers to nothing")
        finally:
            engine.dispose()
