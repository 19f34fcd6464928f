"""The morning digest, once per nominal time, however late the machine wakes.

Must not write the digest itself (`digest/` does).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.logs import logger
from autopilot.daemon import demand, schedules
from autopilot.daemon.turns import Turns
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from autopilot.daemon.schedules import Due
    from autopilot.daemon.shop import Shop
    from autopilot.daemon.trouble import Trouble

SCHEDULE = schedules.DIGEST


def _always(shop: Shop, due_ms: int) -> bool:  # noqa: ARG001 - the shape of the question
    return True


def _none() -> Trouble | None:
    return None


def write_digest_if_due(
    shop: Shop,
    *,
    is_ready: Callable[[Shop, int], bool] = _always,
    trouble: Callable[[], Trouble | None] = _none,
    turns: Turns | None = None,
) -> int:
    """Write what fell due since the last time; give the next due moment (UTC epoch ms).

    The first daemon of all only notes where it stands: there was no night before it.

    Args:
        shop: the place.
        is_ready: asked with the moment that fell due; says whether what the digest tells is known by now, and
            sees to it that the loop is woken when it is.
        trouble: asked what keeps the loop's ticks from ending well.
        turns: what else is due waits until it is written.
    """
    turns = Turns() if turns is None else turns
    at, zone, now_ms = shop.settings.schedule.digest_at, demand.zone_of(shop.settings), shop.now_ms()
    with shop.store.read() as conn:
        found = schedules.look(conn, SCHEDULE, at=at, zone=zone, now_ms=now_ms)
    if not found.is_open:
        turns.give(shop, SCHEDULE, is_done=False)
        if found.is_first:
            schedules.settle(shop.store, found)
        return found.next_ms
    turns.take(shop, SCHEDULE, is_urgent=True)
    is_done = is_waiting = False
    try:
        is_waiting = not is_ready(shop, found.due_ms)
        is_done = not is_waiting and _is_written(shop, found, trouble())
    finally:  # where it cannot be written, all else goes on
        if not is_waiting:
            turns.give(shop, SCHEDULE, is_done=is_done)
    return found.next_ms


def _is_written(shop: Shop, due: Due, trouble: Trouble | None) -> bool:
    from autopilot.daemon.delivery import waiting  # noqa: PLC0415 - as below
    from autopilot.daemon.digest import gather as digest  # noqa: PLC0415 - once a day: half a MB

    try:
        written = digest.write(shop.store, shop.paths, shop.settings, shop.clock, trouble=trouble)
    except OSError as error:
        schedules.fail(shop.store, due, str(error), retry_ms=shop.now_ms())
        raise
    logger("daemon").info(Event.DIGEST_WRITTEN, path=str(written), due_ms=due.due_ms, late_s=due.late_s)
    schedules.settle(shop.store, due, also=waiting.digest_waits(shop, due.day, trouble=trouble))
    return True
