"""The clean-up as a process of its own, which the daemon starts: `tidy` or `nightly`, and three places.

Must not hold up anything: it runs at the lowest priority, and when it is killed the next one goes on.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config import installed
from autopilot.config.clock import SystemClock
from autopilot.config.heap import loading
from autopilot.config.paths import Paths
from autopilot.config.private import keep_private
from autopilot.schemas.errors import AutopilotError, ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Clean up; what could not be done is in the log and in the report."""
    with loading():
        from autopilot.config import logs
        from autopilot.config.load import load
        from autopilot.daemon.desk import Desk
        from autopilot.daemon.gc.sweep import step_back, sweep, tidy
        from autopilot.daemon.store.engine import open_store

    what, state, config_file, log_folder = argv
    step_back()
    clock = SystemClock()
    paths = Paths(state=Path(state), config_file=Path(config_file), logs=Path(log_folder))
    try:
        installed.refuse_replaced()
        settings = load(paths)
        with logs.setup(paths.logs, clock=clock, stderr=False, **settings.logs.model_dump()):
            store = open_store(paths.database, clock)
            try:
                desk = Desk(store, settings, paths, clock)
                if what == "tidy":
                    tidy(desk)
                else:
                    sweep(desk, apply=settings.gc.auto_delete, packs=True)
            finally:
                store.close()
    except AutopilotError as exc:
        sys.stderr.write(f"{exc}\n")
        return exc.exit_code
    return ExitCode.OK


if __name__ == "__main__":
    keep_private()
    raise SystemExit(main(sys.argv[1:]))
