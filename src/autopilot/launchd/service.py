"""What our service is: the very program, its environment, its limits. Both init systems are told from this.

Must not look at the machine: who installs finds the facts, and what is written follows from them alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MARK = "AUTOPILOT_SERVICE"
"""Set in the service's environment alone: which init system keeps the daemon."""
LAUNCHD, SYSTEMD = "launchd", "systemd"

WATCHDOG_S = 90
"""A loop that makes no step for so long is ended and started anew; it wakes at least every 60 s."""
RESTART_AFTER_S = 10
BURST = 10
BURST_WITHIN_S = 1800
"""So many starts in so many seconds, and the service is given up; a person is told."""
START_WITHIN_S = 3600
"""A large queue is read through, or moved to a new schema, before the daemon is ready."""
ABORT_WITHIN_S = 15
STOP_MARGIN_S = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One installation's daemon."""

    program: tuple[str, ...]
    """The interpreter, absolute, and what makes it our command line."""
    path: str
    """PATH as it was found at installation: absolute folders only."""
    home: Path
    stop_s: int
    """Seconds that a stop may take: the drain, the grace of what is killed then, and a margin."""
    logs: Path
    keep_awake: tuple[str, ...]
    """The program that holds the machine awake; empty where the system has none."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """What else the daemon must know to find the same folders as the person who installed it."""

    @property
    def daemon(self) -> tuple[str, ...]:
        """Give the daemon's command line."""
        return (*self.program, "daemon", "run")

    @property
    def notice(self) -> tuple[str, ...]:
        """Give the command line that notes that the service was given up."""
        return (*self.program, "service", "gave-up")

    def environment(self, init: str) -> dict[str, str]:
        """Give the daemon's environment."""
        return {"PATH": self.path, "HOME": str(self.home), MARK: init, **self.variables}
