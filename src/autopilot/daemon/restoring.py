"""Brings an older queue back on a person's word, and tells it what this machine did meanwhile.

Must not run beside a daemon or another command, and must not delete anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.daemon import traces
from autopilot.daemon.bystanders import refuse_beside_living
from autopilot.daemon.lock import daemon_lock
from autopilot.daemon.statedir import check_file_system
from autopilot.daemon.store.restore import restore

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.daemon.store.restore import Restored


def restore_queue(paths: Paths, clock: Clock, *, source: Path | None = None) -> Restored:
    """Put a backup in the place of the queue; by default the newest good one.

    Raises:
        RefusedError: a daemon or run of ours lives, another has the queue open, or there is no such backup.
        ConfigError: the backup cannot be believed, or cannot be put in place.
    """
    check_file_system(paths.state)
    with daemon_lock(paths.daemon_lock):
        refuse_beside_living(paths)
        return restore(paths.database, clock, source=source, traces=traces.find(paths))
