"""A service with everything that is hard to write down."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from autopilot.launchd.service import Service

HOME: Final = '/home/Jörg & Søn\'s 100% "x"'
ODD: Final = Service(
    program=(f"{HOME}/venv/bin/python", "-P", "-m", "autopilot.daemon.cli"),
    path=f"{HOME}/bin:/usr/bin:/bin",
    home=Path(HOME),
    stop_s=105,
    logs=Path(HOME) / "logs",
    keep_awake=("/usr/bin/systemd-inhibit", "--why=it is $HOME\\s night", "/usr/bin/sleep", "infinity"),
    variables={"AUTOPILOT_HOME": f"{HOME}/state"},
)
PLAIN: Final = Service(
    program=("/usr/bin/python3", "-P", "-m", "autopilot.daemon.cli"),
    path="/usr/bin:/bin",
    home=Path("/root"),
    stop_s=105,
    logs=Path("/var/tmp/logs"),
    keep_awake=(),
)
