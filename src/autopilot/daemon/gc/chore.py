"""The daemon's part in cleaning up: it starts a child for it, at night and when a worktree is done with.

Must not clean up itself: the loop's thread never waits for a disk.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from autopilot.config.logs import logger
from autopilot.config.proc import SpawnError
from autopilot.daemon import demand, schedules
from autopilot.daemon.children import clean_up_launch
from autopilot.daemon.store import queries_tickets
from autopilot.schemas.errors import TicketError
from autopilot.schemas.events import Event
from autopilot.schemas.ids import short_id_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.daemon.shop import Shop
    from autopilot.daemon.supervisor import Supervisor

SCHEDULE = "gc"


class Cleaner:
    """Knows which child is under way, and which worktrees it has been started for already."""

    def __init__(self, supervisor: Supervisor) -> None:
        """Take who watches these children alone: no draining daemon waits for them."""
        self._supervisor = supervisor
        self._key = ""
        self._tried: set[str] = set()

    def __call__(self, shop: Shop) -> int:
        """Start what is due.

        Returns:
            When the next nightly clean-up is due (UTC epoch ms).
        """
        at, zone, now_ms = shop.settings.schedule.digest_at, demand.zone_of(shop.settings), shop.now_ms()
        with shop.store.read() as conn:
            due = schedules.look(conn, SCHEDULE, at=at, zone=zone, now_ms=now_ms)
        if self._is_under_way():
            return due.next_ms
        if due.is_first or due.is_open:
            schedules.settle(shop.store, due)
        if due.is_open:
            self._start(shop, "nightly")
        elif untidy := self._untidy(shop):
            self._tried |= untidy
            self._start(shop, "tidy")
        return due.next_ms

    def close(self) -> None:
        """End what is under way; the next clean-up goes on where it stopped."""
        self._supervisor.stop_all("the daemon stops")
        if self._key:
            self._supervisor.forget(self._key)

    def _is_under_way(self) -> bool:
        watch = self._supervisor.get(self._key) if self._key else None
        if watch is None:
            return False
        if watch.ending is None:
            return True
        self._supervisor.forget(self._key)
        self._key = ""
        return False

    def _start(self, shop: Shop, what: str) -> None:
        place = hashlib.sha256(str(shop.paths.state).encode()).hexdigest()[:8]
        key = f"gc-{place}"
        try:
            self._supervisor.start(clean_up_launch(shop, key, what))
        except (OSError, SpawnError) as error:
            logger("daemon").warning(Event.GC_POSTPONED, what=what, reason=str(error))
            return
        self._key = key

    def _untidy(self, shop: Shop) -> set[str]:
        """Name tickets with an open pull request whose worktree is there and was not tried yet.

        What could not be removed is left to the nightly clean-up, and to the report.
        """
        names = {name for name in _names(shop) if name not in self._tried}
        if not names:
            return set()
        with shop.store.read() as conn:
            return set(queries_tickets.with_pull_request(conn, names))


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
