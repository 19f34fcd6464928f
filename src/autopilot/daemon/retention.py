"""Clears away what has had its time, once a day, in steps so small that nobody has to wait for one.

A tick does no more than a fraction of a second of it and asks to be woken for the rest at once, so that it
keeps up with any amount. Must not clear anything itself (`clearing.py` does, and is imported when it is due).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.daemon import demand, schedules
from autopilot.daemon.turns import Turns

if TYPE_CHECKING:
    from autopilot.daemon.clearing import Pass
    from autopilot.daemon.shop import Shop

SCHEDULE = schedules.RETENTION
PAUSE_MS = 100
"""Between two turns, for everybody else."""


class Retention:
    """Knows how far today's clearing came. A restart begins it anew, and finds what is left."""

    def __init__(self, turns: Turns | None = None) -> None:
        """Begin with nothing under way; take what else is due at that hour."""
        self._pass: Pass | None = None
        self._turns = Turns() if turns is None else turns

    def __call__(self, shop: Shop) -> int | None:
        """Clear for a moment, if it is time; give when to go on (UTC epoch ms)."""
        if self._pass is not None and self._pass.is_overtaken:
            self._pass = None
        at, zone, now_ms = shop.settings.retention.at, demand.zone_of(shop.settings), shop.now_ms()
        if self._pass is None:
            with shop.store.read() as conn:
                due = schedules.look(conn, SCHEDULE, at=at, zone=zone, now_ms=now_ms)
            if due.is_first:
                schedules.settle(shop.store, due)
            if not due.is_open:
                self._turns.give(shop, SCHEDULE, is_done=False)
                return due.next_ms
            from autopilot.daemon.clearing import Pass  # noqa: PLC0415 - once a day

            if not self._turns.take(shop, SCHEDULE):
                return self._turns.look_ms(shop, SCHEDULE)
            self._pass = Pass(shop, due)
        under_way, self._pass = self._pass, None  # a step that fails ends the pass: the next begins anew
        is_done = is_failed = True
        try:
            is_done = under_way.go_on(shop)
            is_failed = False
        finally:
            if is_done:
                self._turns.give(shop, SCHEDULE, is_done=not is_failed)
        if is_done:
            under_way.settle(shop)
            return under_way.due.next_ms
        self._pass = under_way
        return now_ms + PAUSE_MS
