"""The daemon's part in cleaning up: it starts a child for it, at night and when a worktree is done with.

Must not clean up itself: the loop's thread never waits for a disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config.logs import logger
from autopilot.config.proc import SpawnError
from autopilot.daemon import demand, schedules
from autopilot.daemon.store import queries_tickets
from autopilot.daemon.turns import Turns
from autopilot.schemas.errors import TicketError
from autopilot.schemas.events import Event
from autopilot.schemas.ids import short_id_of
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.daemon.schedules import Due
    from autopilot.daemon.shop import Shop
    from autopilot.daemon.supervisor import Supervisor

SCHEDULE = schedules.GC
FIRST_WAIT_S = 600.0
_LAST_WAIT_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class _Errand:
    """What a child was started for: a night, or the worktrees of tickets."""

    key: str
    night: Due | None = None
    tickets: frozenset[str] = frozenset()


class Cleaner:
    """Knows which child is under way, and which worktrees one has gone through already.

    Only a child that ended well counts: after another, or none, the same is tried again after a while.
    """

    def __init__(self, supervisor: Supervisor, turns: Turns | None = None) -> None:
        """Take who watches these children alone (no draining daemon waits for them), and what else is due."""
        self._supervisor = supervisor
        self._turns = Turns() if turns is None else turns
        self._errand: _Errand | None = None
        self._tried: set[str] = set()
        self._wait_s = FIRST_WAIT_S
        self._not_before_ms = 0

    def __call__(self, shop: Shop) -> int:
        """Start what is due.

        Returns:
            When the next clean-up is due (UTC epoch ms).
        """
        is_under_way = self._is_under_way(shop)
        at, zone, now_ms = shop.settings.schedule.digest_at, demand.zone_of(shop.settings), shop.now_ms()
        with shop.store.read() as conn:
            due = schedules.look(conn, SCHEDULE, at=at, zone=zone, now_ms=now_ms)
        if is_under_way:
            return due.next_ms
        if due.is_first:
            schedules.settle(shop.store, due)
        if now_ms < self._not_before_ms <= now_ms + _LAST_WAIT_S * MS_PER_S:
            return min(due.next_ms, self._not_before_ms)
        key = shop.paths.mark("gc")
        if due.is_open:
            if not self._turns.take(shop, SCHEDULE):
                return min(due.next_ms, self._turns.look_ms(shop, SCHEDULE))
            self._start(shop, "nightly", _Errand(key, night=due))
        elif untidy := self._untidy(shop):
            self._start(shop, "tidy", _Errand(key, tickets=untidy))
        return due.next_ms

    def close(self) -> None:
        """End what is under way; the next clean-up goes on where it stopped."""
        self._supervisor.stop_all("the daemon stops")
        if self._errand is not None:
            self._supervisor.forget(self._errand.key)

    def _is_under_way(self, shop: Shop) -> bool:
        errand = self._errand
        watch = self._supervisor.get(errand.key) if errand is not None else None
        if errand is None or watch is None:
            return False
        if watch.ending is None:
            return True
        if not watch.ending.is_success:
            self._put_off(shop, watch.ending.told, errand.night)
        else:
            if errand.night is not None:
                schedules.settle(shop.store, errand.night)
            self._tried |= errand.tickets
            self._wait_s, self._not_before_ms = FIRST_WAIT_S, 0
            self._turns.give(shop, SCHEDULE)
        self._supervisor.forget(errand.key)
        self._errand = None
        return False

    def _start(self, shop: Shop, what: str, errand: _Errand) -> None:
        try:
            from autopilot.daemon.children import clean_up_launch  # noqa: PLC0415 - once a night, and after a run

            self._supervisor.start(clean_up_launch(shop, errand.key, what))
        except (OSError, SpawnError) as error:
            self._put_off(shop, str(error), errand.night)
            return
        self._errand = errand

    def _put_off(self, shop: Shop, reason: str, night: Due | None) -> None:
        """Wait longer each time: what stands in the way of a clean-up may stand there for days."""
        logger("daemon").warning(Event.GC_POSTPONED, reason=reason, wait_s=self._wait_s)
        self._not_before_ms = shop.now_ms() + round(self._wait_s * MS_PER_S)
        self._wait_s = min(2 * self._wait_s, _LAST_WAIT_S)
        self._turns.give(shop, SCHEDULE, is_done=False)
        if night is not None:
            schedules.fail(shop.store, night, reason, retry_ms=self._not_before_ms)

    def _untidy(self, shop: Shop) -> frozenset[str]:
        """Name tickets with an open pull request whose worktree is there and was not tried yet.

        What could not be removed is left to the nightly clean-up, and to the report.
        """
        there = set(_names(shop))
        self._tried &= there
        names = there - self._tried
        if not names:
            return frozenset()
        with shop.store.read() as conn:
            return frozenset(queries_tickets.with_pull_request(conn, names))


def _names(shop: Shop) -> Iterator[str]:
    try:
        entries = [entry.name for entry in shop.paths.worktrees.iterdir()]
    except OSError:
        return
    for name in entries:
        try:
            short_id_of(name)
        except TicketError:
            continue
        yield name
