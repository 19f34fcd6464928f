"""Begins a new queue in the place of a damaged one, which is moved aside. Only on a person's word.

What only ever grows goes on where it was: ticket numbers, fences, and the money of the day. Must not leave a
moment in which a queue that knows nothing of this could be opened.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.atomic import sync_folder
from autopilot.daemon.store import copies, migrate, present
from autopilot.daemon.store.aside import finish, former, moved_aside
from autopilot.daemon.store.damage import Translated, openable
from autopilot.daemon.store.present import Newer
from autopilot.daemon.store.restore import flush_copy, tell
from autopilot.daemon.store.traces import SET_ASIDE, Carried, Traces

if TYPE_CHECKING:
    from autopilot.config.clock import Clock

_STAGE = ".anew-"
_NOTHING_LEFT = Traces()


@dataclass(frozen=True, slots=True)
class Begun:
    """Where the damaged queue went, and what the new one was told."""

    set_aside: Path
    carried: Carried
    last_number: int
    """The highest ticket number that is known to have been given."""


def begin_anew(database: Path, clock: Clock, *, traces: Traces = _NOTHING_LEFT) -> Begun:
    """Build a new database aside, tell it what this machine did, and put it in place.

    Raises:
        RefusedError: `database-in-use`.
        ConfigError: `database-unwritable`; nothing was changed.
        TransientError: `database-full`; nothing was changed.
    """
    with migrate.sole_seat(database), Translated(database), openable(database):
        tidy(database)
        last = max(traces.last_number, present.last_number(former(database)), _last_of_backups(database))
        with tempfile.TemporaryDirectory(prefix=_STAGE, dir=database.parent) as folder:
            staged = Path(folder) / database.name
            migrate.make(staged)
            carried = tell(staged, Newer(last_number=last), traces, SET_ASIDE, now_ms=clock.now_ms())
            flush_copy(staged)
            with moved_aside(database, clock, why="damaged") as aside:
                staged.rename(database)
                sync_folder(database.parent)
    return Begun(aside, carried, last)


def tidy(database: Path) -> None:
    """Bring to its end what a kill cut short once a queue was in place; under the daemon's lock."""
    for left_over in database.parent.glob(f"{_STAGE}*"):
        shutil.rmtree(left_over)
    finish(database)


def _last_of_backups(database: Path) -> int:
    copy = copies.newest_good(database.parent / copies.BACKUP_FOLDER)
    return 0 if copy is None else present.last_number(copy.path)
