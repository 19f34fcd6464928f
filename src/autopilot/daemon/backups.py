"""The daily copy of the queue, made on a thread of its own; once per day, however late the machine wakes.

Must not keep the loop waiting, and must not end the daemon for want of a copy: only the discovery that the
queue itself is damaged does.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from autopilot.config.logs import logger
from autopilot.config.threads import begin
from autopilot.daemon import demand, schedules
from autopilot.daemon.inbox import Woken
from autopilot.daemon.store import backup, migrate
from autopilot.daemon.turns import Turns
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.events import Event
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from autopilot.daemon.inbox import Inbox
    from autopilot.daemon.schedules import Due
    from autopilot.daemon.shop import Shop

SCHEDULE = schedules.BACKUP
RETRY_MS = 3600 * MS_PER_S
JOIN_TIMEOUT_S = 10.0
_DAMAGED = "database-damaged"


class Backups:
    """Knows the copy that is being made. What was made is in the folder, and when is a row."""

    def __init__(self, inbox: Inbox, turns: Turns | None = None) -> None:
        """Take whom to wake when a copy is done, and what else is due at that hour."""
        self._inbox = inbox
        self._turns = Turns() if turns is None else turns
        self._stop = threading.Event()
        self._copying: _Copying | None = None
        self._retry_ms = 0

    def __call__(self, shop: Shop) -> int | None:
        """Begin the copy that fell due, or deal with the end of one.

        Returns:
            When to look again (UTC epoch ms); None while a copy is being made, whose end wakes the loop.

        Raises:
            ConfigError: `database-damaged`: the copy could not be made because the queue cannot be read.
        """
        if self._copying is not None:
            if self._copying.is_alive():
                return None
            self._take_up(shop, self._copying)
            self._copying = None
        at, zone, now_ms = shop.settings.backup.at, demand.zone_of(shop.settings), shop.now_ms()
        with shop.store.read() as conn:
            found = schedules.look(conn, SCHEDULE, at=at, zone=zone, now_ms=now_ms)
        if found.is_first:
            schedules.settle(shop.store, found)  # the first daemon of all: nothing to lose yet
        elif found.is_open:
            if now_ms < self._retry_ms <= now_ms + RETRY_MS:
                return min(self._retry_ms, found.next_ms)
            if not self._turns.take(shop, SCHEDULE):
                return self._turns.look_ms(shop, SCHEDULE)
            self._begin(shop, found)
            return None
        return found.next_ms

    def close(self) -> None:
        """Give up the copy that is being made; it leaves nothing behind."""
        self._stop.set()
        if self._copying is not None and self._copying.is_alive():
            self._copying.join(JOIN_TIMEOUT_S)

    def _begin(self, shop: Shop, due: Due) -> None:
        database, now_ms, keep = shop.store.database, shop.now_ms(), shop.settings.backup.keep_files
        self._copying = _Copying(
            due, lambda: _copy(database, now_ms, keep=keep, stop=self._stop), on_end=self._wake
        )
        begin(self._copying)

    def _wake(self) -> None:
        self._inbox.put(Woken(SCHEDULE))

    def _take_up(self, shop: Shop, copying: _Copying) -> None:
        error = copying.error
        self._turns.give(shop, SCHEDULE, is_done=error is None)
        if error is None:
            schedules.settle(shop.store, copying.due)
            return
        if error.code == _DAMAGED:
            raise error
        self._retry_ms = shop.now_ms() + RETRY_MS
        schedules.fail(shop.store, copying.due, f"{error.what}; {error.hint}", retry_ms=self._retry_ms)
        logger("daemon").error(Event.BACKUP_FAILED, code=error.code, error=error.what, hint=error.hint)


class _Copying(threading.Thread):
    """One copy under way, and how it ended."""

    def __init__(self, due: Due, work: Callable[[], None], *, on_end: Callable[[], None]) -> None:
        """Take what it is for, what to do, and what to call at its end, however it is."""
        super().__init__(name=SCHEDULE, daemon=True)
        self.due = due
        self.error: AutopilotError | None = AutopilotError("backup-ended", "the copy ended without a word")
        self._work = work
        self._on_end = on_end

    def run(self) -> None:
        """Do it."""
        try:
            self._work()
            self.error = None
        except backup.StoppedError:
            pass
        except AutopilotError as error:
            self.error = error
        finally:
            self._on_end()


def _copy(database: Path, now_ms: int, *, keep: int, stop: threading.Event) -> None:
    """Make the copy; only when it was read back, older ones go."""
    made = backup.make(database, taken_ms=now_ms, kind="daily", schema=migrate.HEAD, stop=stop)
    backup.prune(made.path.parent, keep=keep)
