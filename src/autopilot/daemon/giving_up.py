"""Gives a damaged queue up on a person's word: its files are moved away, never deleted.

Must not touch a database that can be read, or one that somebody works with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.daemon import traces
from autopilot.daemon.bystanders import refuse_beside_living
from autopilot.daemon.lock import daemon_lock
from autopilot.daemon.statedir import check_file_system
from autopilot.daemon.store.anew import begin_anew, tidy
from autopilot.daemon.store.engine import open_store
from autopilot.schemas.errors import ConfigError, RefusedError

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.daemon.store.anew import Begun

LOST = frozenset({"database-damaged", "database-missing"})
"""Faults that moving the files away ends; every other has a better cure."""


def give_up_queue(paths: Paths, clock: Clock) -> Begun:
    """Move the database into a folder of its own and begin a queue that goes on with numbers and money.

    Raises:
        RefusedError: a daemon or a run of ours lives, or the database is whole.
        ConfigError: another fault, which needs another cure.
    """
    check_file_system(paths.state)
    with daemon_lock(paths.daemon_lock):
        fault = _fault(paths.database, clock)
        if fault is None:
            tidy(paths.database)
            what = f"{paths.database} is whole: there is nothing to give up"
            raise RefusedError("database-whole", what, hint="autopilot doctor shows what blocks")
        if fault.code not in LOST:
            raise fault
        refuse_beside_living(paths)
        return begin_anew(paths.database, clock, traces=traces.find(paths))


def _fault(database: Path, clock: Clock) -> ConfigError | None:
    try:
        store = open_store(database, clock)
    except ConfigError as error:
        return error
    try:
        store.check()
    except ConfigError as error:
        return error
    finally:
        store.close()
    return None
