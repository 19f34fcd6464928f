"""`python -P -m autopilot.daemon.checkup REPORT.json`: one look, as the daemon takes it while it is on.

Its dearest line asks an agent's account, once in `fresh_s` while the answer is good.

Exit 0 whenever the report was written, whatever it says.
"""

from __future__ import annotations

import sys
from pathlib import Path

from autopilot.config import installed
from autopilot.config.atomic import write_atomically
from autopilot.config.clock import SystemClock
from autopilot.config.heap import loading
from autopilot.config.paths import find_paths
from autopilot.config.private import keep_private


def main(report: Path) -> None:
    """Look, and write down what was seen."""
    with loading():
        from autopilot.daemon.checkup.everything import check_all
        from autopilot.daemon.checkup.probe import Purpose
        from autopilot.schemas.checkup import Checkup

    installed.refuse_replaced()
    found = check_all(find_paths(), SystemClock(), purpose=Purpose.TICK)
    write_atomically(report, Checkup.of(found).model_dump_json().encode())


if __name__ == "__main__":
    keep_private()
    main(Path(sys.argv[1]))
