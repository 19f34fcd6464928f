"""One child under watch: its journal is followed, it is ended when it must, and its end is told once.

Must not touch the database: what it sees goes to the inbox, and the loop's thread writes. Must not tell of an
end before the child's whole tree is gone.
"""

from __future__ import annotations

import os
import signal
import stat
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autopilot.config import proc
from autopilot.config.journal import read_lines
from autopilot.config.logs import logger
from autopilot.daemon.inbox import Ended, Spent
from autopilot.schemas.events import Event
from autopilot.schemas.units import MAX_RUN_MICRO_USD, format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.daemon.inbox import Inbox

POLL_S = 0.1
STOP_MARGIN_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to watch, and how long it may take."""

    key: str
    """The run's or the publication's id; the child's tree carries it as its mark."""
    journal: Path
    fence: int
    wall_s: float
    """Backstop in seconds awake: the child has its own, shorter limits."""
    grace_s: float
    keep_awake: Callable[[proc.ProcessId], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a child's process ended, and whose doing it was."""

    told: str
    """For the reason a person reads, e.g. `the process was killed by signal 9`."""
    asked: str = ""
    """Why we asked it to stop; empty when it ended by itself."""
    is_overdue: bool = False
    """We killed it because it outlived its backstop."""


class Watch:
    """A thread that follows one child to its end."""

    def __init__(
        self, order: Order, process: proc.ProcessId, *, child: proc.Child | None, clock: Clock, inbox: Inbox
    ) -> None:
        """Take the order, whom to watch, the handle when it is our own child, and whom to tell."""
        self.order = order
        self.process = process
        self.ending: Ending | None = None
        self._child = child
        self._clock = clock
        self._inbox = inbox
        self._asked = ""
        self._pause = threading.Event()
        self._offset = 0
        self._spent = -1
        self._thread = threading.Thread(target=self._follow, name=f"watch-{order.key}", daemon=True)

    def start(self) -> None:
        """Watch from now on."""
        self._thread.start()

    def stop(self, why: str) -> bool:
        """Ask the child to end; the first reason counts. Says whether this was the first."""
        is_first = not self._asked and self.ending is None
        self._asked = self._asked or why
        self._pause.set()
        return is_first

    def join(self, timeout_s: float) -> None:
        """Wait for the thread."""
        self._thread.join(timeout_s)

    def _follow(self) -> None:
        is_overdue = False
        try:
            with self.order.keep_awake(self.process):
                is_overdue = self._until_over()
        finally:
            try:
                self._sweep_until_done()
            finally:  # whatever a sweep raises, the loop must hear of the end
                told = self._told(is_overdue=is_overdue)
                self.ending = Ending(told, self._asked, is_overdue)
                self._inbox.put(Ended(self.order.key))

    def _until_over(self) -> bool:
        """Return when it ended, or must: True when it outlived its backstop."""
        deadline_s = self._clock.monotonic_s() + self.order.wall_s
        while self._is_alive():
            self._read_journal()
            if self._asked:
                self._ask_to_end()
                return False
            if self._clock.monotonic_s() > deadline_s:
                return True
            self._pause.wait(POLL_S)
        return False

    def _ask_to_end(self) -> None:
        """TERM to the child alone, which ends its own tree and writes how far it came."""
        with suppress(ProcessLookupError):
            if proc.is_alive(self.process):
                os.kill(self.process.pid, signal.SIGTERM)
        deadline_s = self._clock.monotonic_s() + self.order.grace_s + STOP_MARGIN_S
        while self._is_alive() and self._clock.monotonic_s() < deadline_s:
            self._read_journal()
            threading.Event().wait(POLL_S)

    def _sweep_until_done(self) -> None:
        """Try again where no descriptor or memory is left: an end untold would hold its ticket for ever."""
        is_told = False
        while True:
            try:
                return self._sweep()
            except OSError as error:
                if not is_told:
                    logger("daemon").warning(Event.SWEEP_POSTPONED, key=self.order.key, error=str(error))
                is_told = True
                threading.Event().wait(POLL_S)

    def _sweep(self) -> None:
        """End what is left of the tree; then read the journal's last lines."""
        proc.kill_tree(self.process, grace_s=0.0, clock=self._clock, marker=self.order.key)
        if self._child is not None:
            self._child.poll()
        self._read_journal()

    def _is_alive(self) -> bool:
        if self._child is not None:
            return self._child.poll() is None
        try:
            return proc.is_alive(self.process)
        except OSError:
            return True  # we cannot look now: no reason to end it

    def _read_journal(self) -> None:
        while True:
            if not _is_regular(self.order.journal):
                return
            try:
                reading = read_lines(self.order.journal, self._offset)
            except OSError:
                return  # it cannot be read now; the result's own usage counts in the end
            for entry in reading.entries:
                self._take(entry)
            if reading.offset == self._offset:
                return
            self._offset = reading.offset

    def _take(self, entry: Mapping[str, Any]) -> None:
        spent = entry.get("cost_micro_usd")
        if entry.get("event") != Event.AGENT_SPENT or not isinstance(spent, int) or spent is True:
            return
        if self._spent < spent <= MAX_RUN_MICRO_USD:
            self._spent = spent
            self._inbox.put(Spent(self.order.key, self.order.fence, spent))

    def _told(self, *, is_overdue: bool) -> str:
        if is_overdue:
            return f"the process outlived its {format_duration(self.order.wall_s)} and was killed"
        code = self._child.poll() if self._child is not None else None
        if code is None:
            return "the process is gone"
        return (
            f"the process ended with code {code}"
            if code >= 0
            else f"the process was killed by signal {-code}"
        )


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False
