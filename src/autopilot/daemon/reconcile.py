"""Once a day what lies in the state folder is compared with what the queue knows, as at each start.

A daemon that runs for months would else never look. Must not delete anything: cleaning up is another's work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.daemon import demand, recover, schedules
from autopilot.daemon.turns import Turns

if TYPE_CHECKING:
    from autopilot.daemon.shop import Shop

SCHEDULE = schedules.RECONCILE


class Reconcile:
    """Holds nothing that a restart would miss."""

    def __init__(self, turns: Turns | None = None) -> None:
        """Take what else is due at that hour."""
        self._turns = Turns() if turns is None else turns

    def __call__(self, shop: Shop) -> int:
        """Compare, if it is time; give when it is next due (UTC epoch ms)."""
        at, zone, now_ms = shop.settings.schedule.digest_at, demand.zone_of(shop.settings), shop.now_ms()
        with shop.store.read() as conn:
            due = schedules.look(conn, SCHEDULE, at=at, zone=zone, now_ms=now_ms)
        if due.is_open and not self._turns.take(shop, SCHEDULE):
            return min(due.next_ms, self._turns.look_ms(shop, SCHEDULE))
        try:
            if due.is_open:
                recover.tell_orphans(shop)
            if due.is_open or due.is_first:
                schedules.settle(shop.store, due)
        finally:
            self._turns.give(shop, SCHEDULE)
        return due.next_ms
