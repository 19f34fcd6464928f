"""Renews in the database what is under watch; a child whose claim is gone is stopped.

On the loop's thread, once every quarter of a lease. The child itself hears of it from its watch (`pulse.py`).
Must not judge an end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.logs import logger
from autopilot.daemon.store import leases
from autopilot.schemas.events import Event
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from autopilot.daemon.shop import Shop

_RENEWALS_PER_LEASE = 4
_WHY = "its claim has ended"


class Leasing:
    """Knows when it was renewed last. A restart forgets that, and renews at once."""

    def __init__(self) -> None:
        """Begin with nothing renewed."""
        self._renewed_s: float | None = None

    def __call__(self, shop: Shop) -> int | None:
        """Renew what is due.

        Returns:
            When to come again (UTC epoch ms); None while nothing is under watch.
        """
        held = shop.supervisor.held()
        if not held:
            self._renewed_s = None
            return None
        every_s = shop.rules.lease_ms / MS_PER_S / _RENEWALS_PER_LEASE
        now_s = shop.clock.monotonic_s()
        if self._renewed_s is None or now_s - self._renewed_s >= every_s:
            self._renew(shop, held)
            self._renewed_s = now_s
        left_ms = round((self._renewed_s + every_s - now_s) * MS_PER_S)
        return shop.now_ms() + max(1, left_ms)  # never now: the loop would turn without a pause

    def _renew(self, shop: Shop, held: dict[str, int]) -> None:
        renewed = leases.renew(shop.store, held, lease_ms=shop.rules.lease_ms)
        for key in held.keys() - renewed:
            watch = shop.supervisor.get(key)
            if watch is not None and watch.stop(_WHY):
                logger("daemon").error(Event.LEASE_REFUSED, key=key, fence=held[key])
