"""The alarm for a queue that could move and does not: demand, no hold, and for a while nothing started.

Every reason not to start a ticket is a hold with a name. Where none stands and still nothing starts, what is
broken names itself nowhere else. Must not start anything, and must not weigh reasons (`admission.py` does).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config.logs import logger
from autopilot.daemon import breaker, launching
from autopilot.daemon.store import queries_host, writes
from autopilot.schemas.events import Event
from autopilot.schemas.ticket import Hold

if TYPE_CHECKING:
    from collections.abc import Collection

    from autopilot.daemon.shop import Shop

ALARM_AFTER_S = 15 * 60.0
"""Seconds awake: a machine that slept has not failed to start anything."""
LOOK_EVERY_S = 60.0
HOLD = "nothing-starts"
_CURE = "look for tick.failed in the daemon's log and run `autopilot doctor`; then start the daemon anew"


@dataclass(frozen=True, slots=True)
class Standstill:
    """Since when (seconds awake) some ticket might have started, and which start was the last before."""

    since_s: float
    last_launch_ms: int | None

    def is_alarming(self, now_s: float) -> bool:
        """Tell whether it has lasted too long."""
        return now_s - self.since_s >= ALARM_AFTER_S


def after_look(
    before: Standstill | None, *, is_free: bool, last_launch_ms: int | None, now_s: float
) -> Standstill | None:
    """Judge one look at the queue.

    Args:
        before: what the look before gave.
        is_free: a ticket waits that nothing keeps.
        last_launch_ms: when the last run was started (UTC epoch ms).
        now_s: seconds awake.
    """
    if not is_free:
        return None
    if before is None or before.last_launch_ms != last_launch_ms:
        return Standstill(now_s, last_launch_ms)
    return before


class Alarm:
    """Looks once a minute, after the launches of a tick; tells of each standstill once."""

    def __init__(self) -> None:
        """Begin with a queue that moves."""
        self._standstill: Standstill | None = None
        self._looked_s: float | None = None
        self.holds: tuple[Hold, ...] = ()
        """What is to stand among the holds while it lasts, so that `status` and the digest tell of it."""

    def look(self, shop: Shop, *, skip: Collection[str] = ()) -> None:
        """Look if it is time; while the alarm stands, at every tick.

        Args:
            shop: the place.
            skip: tickets that are left alone.
        """
        now_s = shop.clock.monotonic_s()
        if self._looked_s is None:
            self._looked_s = now_s
        if not self.holds and now_s - self._looked_s < LOOK_EVERY_S:
            return
        self._looked_s = now_s
        free = launching.next_free(shop, skip=skip)
        self._standstill = after_look(
            self._standstill,
            is_free=free is not None,
            last_launch_ms=None if free is None else free.host.facts.last_launch_ms,
            now_s=now_s,
        )
        if free is None or self._standstill is None or not self._standstill.is_alarming(now_s):
            self.holds = ()
        elif not self.holds:
            self._raise(shop, free.ticket.id)

    def _raise(self, shop: Shop, ticket: str) -> None:
        minutes = round(ALARM_AFTER_S / 60)
        cause = f"{ticket} waits and nothing keeps it, yet nothing has been started for {minutes} minutes"
        hold = Hold(name=HOLD, scope=breaker.HOST, cause=cause, since_ms=shop.now_ms(), cure=_CURE)
        self.holds = (hold,)
        logger("daemon").error(Event.QUEUE_STALLED, ticket=ticket, stalled_s=ALARM_AFTER_S, hint=_CURE)
        with shop.store.read() as conn:
            standing = queries_host.holds(conn)
        writes.sync_holds(shop.store, (*standing, hold))
