"""What a daemon does once another version of the program lies in the place of its own.

What it would import from now on, and whatever it started, would be of the other one. So it judges and starts
nothing more; what runs goes on, and a daemon of the new version adopts it. Where a service keeps it, it ends
for that by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config import environ, installed
from autopilot.daemon.breaker import HOST
from autopilot.launchd.service import MARK
from autopilot.schemas.ticket import Hold
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from autopilot.config.clock import Clock

SETTLED_S = 20.0
"""So long nothing has changed any more before the new version is started: it is there as a whole."""


class GivingWay:
    """Whether the daemon is of another program than the one that lies there."""

    def __init__(self, clock: Clock) -> None:
        """Begin as the program that was started."""
        self._clock = clock
        self._since_ms = 0
        self._sign = ""
        self._settled_s = 0.0
        self.is_due = False

    def look(self) -> Hold | None:
        """Look at what lies there; give the hold of a daemon that may do nothing more.

        Raises:
            TransientError: `program-replaced`: a service starts the new version.
        """
        sign, was_due = installed.sign(), self.is_due
        if sign is not None:  # an installation that fails is taken back: then the very same lies there again
            self.is_due = installed.is_another(sign)
        if not self.is_due:
            self._settled_s = 0.0
            return None
        now_s = self._clock.elapsed_s()
        if not was_due:
            self._since_ms = self._clock.now_ms()
        if sign is not None and (not self._settled_s or sign != self._sign):
            self._sign, self._settled_s = sign, now_s + SETTLED_S
        if self._sign and now_s >= self._settled_s and environ.current().get(MARK):
            raise installed.replaced()
        return self._hold()

    def _hold(self) -> Hold:
        what, cure = "another version was installed", installed.CURE
        if not self._sign:
            what, cure = "the program was taken away", f"install autopilot again; then {cure}"
        cause = f"{what} below this daemon, which does nothing more; what runs goes on"
        return Hold(name=installed.CODE, scope=HOST, cause=cause, since_ms=self._since_ms, cure=cure)

    def next_ms(self) -> int:
        """Give when to look again (UTC epoch ms)."""
        return self._clock.now_ms() + round(SETTLED_S / 2 * MS_PER_S)
