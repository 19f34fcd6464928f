"""Whose turn it is among what fell due meanwhile: one after another, with a pause, so that no wake is a rush.

The order is that in which they are asked in a tick; the digest is asked first and waits for nobody. Must not
know what they do. A restart forgets all of it: nothing is under way then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from autopilot.daemon.shop import Shop

PAUSE_S = 5.0
"""Seconds between the end of one and the begin of another, and up to as many more by chance; sleep counts."""
_LOOK_MS = 30 * MS_PER_S
"""While another is at work. Its end wakes the loop as a rule."""


class Turns:
    """Knows who is at work, and when the last one ended."""

    def __init__(self) -> None:
        """Begin with nobody at work."""
        self._at_work: set[str] = set()
        self._last = ""
        self._free_s = 0.0

    def take(self, shop: Shop, name: str, *, is_urgent: bool = False) -> bool:
        """Say whether this one may be at work now; who has its turn already keeps it."""
        if name in self._at_work:
            return True
        if not is_urgent and (self._at_work or self._left_s(shop, name) > 0):
            return False
        self._at_work.add(name)
        return True

    def give(self, shop: Shop, name: str, *, is_done: bool = True) -> None:
        """It is at work no more; after one that came to nothing the next need not wait."""
        if name not in self._at_work:
            return
        self._at_work.discard(name)
        if is_done:
            self._last = name
            self._free_s = shop.clock.elapsed_s() + PAUSE_S * (1 + shop.jitter())

    def look_ms(self, shop: Shop, name: str) -> int:
        """Give when one that was refused asks again (UTC epoch ms)."""
        left_ms = _LOOK_MS if self._at_work else round(self._left_s(shop, name) * MS_PER_S)
        return shop.now_ms() + max(1, left_ms)

    def _left_s(self, shop: Shop, name: str) -> float:
        return 0.0 if name == self._last else self._free_s - shop.clock.elapsed_s()
