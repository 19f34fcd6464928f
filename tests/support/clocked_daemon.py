"""`python -P clocked_daemon.py FILE`: the daemon, on a clock that is as far off as FILE says, in seconds."""

from __future__ import annotations

import sys
from pathlib import Path

from autopilot.config.clock import SystemClock
from autopilot.config.load import load
from autopilot.config.paths import find_paths
from autopilot.daemon.app import run_daemon


class OffClock(SystemClock):
    """This machine's clock, set by a test."""

    def __init__(self, offset: Path) -> None:
        self._offset = offset

    def now_ms(self) -> int:
        """UTC epoch milliseconds, as far off as the file says."""
        return super().now_ms() + int(self._offset.read_text(encoding="ascii") or "0") * 1000


if __name__ == "__main__":
    paths = find_paths()
    clock = OffClock(Path(sys.argv[1]))
    raise SystemExit(run_daemon(paths, load(paths), clock, reload=lambda: load(paths)))
