"""What the init system is told of the loop, after each tick that came to its end. Must not judge anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.daemon.watch import STOP_MARGIN_S

if TYPE_CHECKING:
    from autopilot.daemon.loop import Loop
    from autopilot.daemon.shop import Shop
    from autopilot.launchd.heartbeat import Heartbeat


class Vitals:
    """Turns the state of the loop into a beat, or into a plea for time."""

    def __init__(self, shop: Shop, heart: Heartbeat) -> None:
        """Take what is looked at, and whom it is told to."""
        self._shop = shop
        self._heart = heart

    @property
    def patience_s(self) -> float:
        """Give the seconds that the loop may wait at most."""
        return self._heart.longest_wait_s

    def tell(self, loop: Loop) -> None:
        """Say that a tick came to its end."""
        if loop.is_draining:
            grace_s = self._shop.settings.timeouts.kill_grace_s + STOP_MARGIN_S
            self._heart.stopping(loop.patience_s + grace_s)
        else:
            trouble = loop.complaints.troubles.now
            fails = f"; its ticks fail: {trouble.reason}" if trouble else ""
            self._heart.beat(f"{sum(1 for _ in self._shop.supervisor.live())} under way{fails}")
