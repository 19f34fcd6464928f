"""The morning digest, once per nominal time, however late the machine wakes.

Must not write the digest itself (`digest/` does).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.logs import logger
from autopilot.daemon import demand, schedules
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from autopilot.daemon.shop import Shop

SCHEDULE = "digest"


def _always(shop: Shop, due_ms: int) -> bool:  # noqa: ARG001 - the shape of the question
    return True


def write_digest_if_due(shop: Shop, *, is_ready: Callable[[Shop, int], bool] = _always) -> int:
    """Write what fell due since the last time; give the next due moment (UTC epoch ms).

    The first daemon of all only notes where it stands: there was no night before it.

    Args:
        shop: the place.
        is_ready: asked with the moment that fell due; says whether what the digest tells is known by now, and
            sees to it that the loop is woken when it is.
    """
    at, zone, now_ms = shop.settings.schedule.digest_at, demand.zone_of(shop.settings), shop.now_ms()
    with shop.store.read() as conn:
        found = schedules.look(conn, SCHEDULE, at=at, zone=zone, now_ms=now_ms)
    if found.is_open:
        if not is_ready(shop, found.due_ms):
            return found.next_ms
        from autopilot.daemon.digest import gather as digest  # noqa: PLC0415 - once a day: half a MB

        written = digest.write(shop.store, shop.paths, shop.settings, shop.clock)
        logger("daemon").info(
            Event.DIGEST_WRITTEN, path=str(written), due_ms=found.due_ms, late_s=found.late_s
        )
    if found.is_open or found.is_first:
        schedules.settle(shop.store, found)
    return found.next_ms
