"""One child's pulse: its lease is renewed while its process lives and moves on.

Asked by the child's own watch, so that no slow database can starve it. Must not end anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.lease import renew
from autopilot.config.logs import logger
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.config.proc import ProcessId
    from autopilot.daemon.processes import Processes

PULSE_S = 1.0
"""Far shorter than any lease, also one that a child was given before the setting was changed."""
_LONGEST_STEP_S = 3 * PULSE_S
"""What counts between two looks: when the daemon itself was held still, it has not seen a child stand."""


class Pulse:
    """Renews, and knows how long the child has stood still."""

    def __init__(
        self, process: ProcessId, lease: Path | None, lease_s: float, *, processes: Processes, clock: Clock
    ) -> None:
        """Take whom it is about, its file if it has one, the lease in seconds, and what to look with."""
        self._process = process
        self._lease = lease
        self._lease_s = lease_s
        self._processes = processes
        self._clock = clock
        self._beat_s: float | None = None
        self._stood_s = 0.0
        self._is_told = False

    @property
    def is_steady(self) -> bool:
        """Tell whether the child moved on when it was last looked at."""
        return self._stood_s == 0.0

    def beat(self) -> bool:
        """Renew once a second; say whether the child has stood still for its whole lease."""
        now_s = self._clock.monotonic_s()
        step_s = PULSE_S if self._beat_s is None else now_s - self._beat_s
        if step_s < PULSE_S:
            return False
        self._beat_s = now_s
        if self._is_standing():
            self._stood_s += min(step_s, _LONGEST_STEP_S)
        else:
            self._stood_s = 0.0
            self._renew()
        return self._stood_s >= self._lease_s

    def _is_standing(self) -> bool:
        try:
            return self._processes.is_standing(self._process)
        except (OSError, MemoryError):
            return False  # we cannot look now: no reason to let it end

    def _renew(self) -> None:
        if self._lease is None:
            return
        try:
            renew(self._lease)
        except (OSError, MemoryError) as error:
            if not self._is_told:
                logger("daemon").warning(Event.LEASE_POSTPONED, file=str(self._lease), error=str(error))
            self._is_told = True
