"""Moves a database out of its place for a successor, in a way that goes on where it was killed.

Must not delete anything. Until the successor is in place the folder bears an unfinished name, so that whoever
comes next knows whose files these are, and reads in them what must not be given twice.
"""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from typing import TYPE_CHECKING

from autopilot.config.atomic import sync_folder
from autopilot.daemon.store.damage import SIDECARS
from autopilot.schemas.units import iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from autopilot.config.clock import Clock

_UNFINISHED = ".unfinished"


def former(database: Path) -> Path:
    """Give the database as it was last in its place: where it is, or where a killed move has put it."""
    folder = None if database.exists() else _unfinished(database)
    if folder is None:
        return database
    if (folder / database.name).exists():
        _move(database, folder)  # what lay beside it: only together are they whole
    return folder / database.name


def is_anything_there(database: Path) -> bool:
    """Tell whether there is something to move aside, or a move to be finished."""
    parts = (database.with_name(database.name + suffix) for suffix in ("", *SIDECARS))
    return any(part.exists() for part in parts) or _unfinished(database) is not None


def finish(database: Path) -> None:
    """Name a folder whose database has its successor: only that was left to do."""
    left = _unfinished(database)
    if left is not None and database.exists() and (left / database.name).exists():
        left.rename(_finished(left))


@contextmanager
def moved_aside(database: Path, clock: Clock, *, why: str) -> Iterator[Path]:
    """Move all files of a database into a new folder beside it, for a block that puts another in its place.

    Args:
        database: the file.
        clock: names the folder.
        why: begins its name.
    """
    finish(database)
    folder = _unfinished(database) or _made(database, f"{why}-{iso_utc(clock.now_ms()).replace(':', '')}")
    _move(database, folder)
    yield _finished(folder)
    folder.rename(_finished(folder))
    sync_folder(database.parent)


def _move(database: Path, folder: Path) -> None:
    """Move the database first: one that is left without its write-ahead log looks whole, and is not."""
    for suffix in ("", *SIDECARS):
        part = database.with_name(database.name + suffix)
        if part.exists():
            part.rename(folder / part.name)
    sync_folder(folder)  # first the new names, then the end of the old: a power cut between leaves both
    sync_folder(database.parent)


def _made(database: Path, name: str) -> Path:
    names = (f"{name}-{number}" if number > 1 else name for number in itertools.count(1))
    free = next(each for each in names if not (database.parent / each).exists())
    folder = database.parent / f"{free}{_UNFINISHED}"
    folder.mkdir(mode=0o700)
    return folder


def _unfinished(database: Path) -> Path | None:
    found = sorted(each for each in database.parent.glob(f"*{_UNFINISHED}") if each.is_dir())
    return found[-1] if found else None


def _finished(folder: Path) -> Path:
    return folder.with_name(folder.name.removesuffix(_UNFINISHED))
