"""One child under watch: its journal is followed, it is ended when it must, and its end is told once.

`step` looks once and never waits; the thread only repeats it. Must not touch the database: what it sees goes
to the inbox, and the loop's thread writes. Must not tell of an end before the child's whole tree is gone.
"""

from __future__ import annotations

import math
import stat
import sys
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autopilot.config.journal import read_lines
from autopilot.config.logs import logger
from autopilot.config.threads import begin
from autopilot.daemon.inbox import Ended, LockTried, Spent
from autopilot.daemon.pulse import Pulse
from autopilot.schemas.events import Event
from autopilot.schemas.units import MAX_RUN_MICRO_USD, format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.config.proc import ProcessId
    from autopilot.daemon.inbox import Inbox
    from autopilot.daemon.processes import Handle, Processes
    from autopilot.launchd.awake import AwakeLock

POLL_S = 0.1
STOP_MARGIN_S = 5.0
_NOT_NOW = (OSError, MemoryError)
"""No descriptor or no memory for a look of ours: it says nothing about the child."""


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
    keep_awake: Callable[[ProcessId], AbstractContextManager[AwakeLock | None]]
    lease: Path | None = None
    """The file by which the child is told that somebody looks after it; None: it expects nothing."""
    lease_s: float = math.inf
    """How long it may stand still before it is given up."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a child's process ended, and whose doing it was."""

    told: str
    """For the reason a person reads, e.g. `the process was killed by signal 9`."""
    asked: str = ""
    """Why we asked it to stop; empty when it ended by itself."""
    is_overdue: bool = False
    """We killed it because it outlived its backstop."""
    is_success: bool = False
    """Its own code was 0, which nobody can say of a child that an earlier daemon started."""


class Watch:
    """Follows one child to its end."""

    def __init__(
        self,
        order: Order,
        process: ProcessId,
        *,
        child: Handle | None,
        processes: Processes,
        clock: Clock,
        inbox: Inbox,
    ) -> None:
        """Take the order, whom to watch, the handle when it is our own child, and whom to tell."""
        self.order = order
        self.process = process
        self.ending: Ending | None = None
        self._child = child
        self._processes = processes
        self._clock = clock
        self._inbox = inbox
        self._pulse = Pulse(process, order.lease, order.lease_s, processes=processes, clock=clock)
        self._asked = self._fault = ""
        self._awake: ExitStack | None = None
        self._overdue_at_s = clock.monotonic_s() + order.wall_s
        self._kill_at_s: float | None = None
        self._is_over = self._is_overdue = self._is_postponed = self._has_stood = False
        self._pause = threading.Event()
        self._offset = 0
        self._spent = -1
        self._thread: threading.Thread | None = None

    @property
    def is_steady(self) -> bool:
        """Tell whether the child lives and moves on, as far as is known."""
        return self.ending is None and self._pulse.is_steady

    @property
    def is_deserted(self) -> bool:
        """Tell whether the thread could not be started, or died before it told the end."""
        return self.ending is None and self._thread is not None and not self._thread.is_alive()

    def start(self) -> None:
        """Watch from now on, in a thread of its own; also again, where the one before is gone.

        Raises:
            RuntimeError: there can be no more threads; the child lives on, deserted.
        """
        self._thread = threading.Thread(target=self._follow, name=f"watch-{self.order.key}", daemon=True)
        begin(self._thread)

    def stop(self, why: str) -> bool:
        """Ask the child to end; the first reason counts. Says whether this was the first."""
        is_first = not self._asked and self.ending is None
        self._asked = self._asked or why
        if is_first:  # the loop asks at every tick: the others must not make the thread turn without a pause
            self._pause.set()
        return is_first

    def join(self, timeout_s: float) -> None:
        """Wait for the thread."""
        if self._thread is not None and self._thread.is_alive():  # one that never started cannot be joined
            self._thread.join(timeout_s)

    def step(self) -> float | None:
        """Look at the child once, and do what is due.

        Returns:
            The seconds after which to look again; None once its end has been told.
        """
        self._pause.clear()  # before anything is looked at: who asks from here on is heard at the next look
        if self.ending is not None:
            return None
        try:
            if not self._is_over and not self._look():
                return POLL_S
        except _NOT_NOW:
            return POLL_S
        self.let_sleep()
        return None if self._is_swept() else POLL_S

    def let_sleep(self) -> None:
        """Keep the machine awake no longer, and look at the child no more: what is left is to be ended."""
        self._is_over = True
        if self._awake is not None:
            self._awake.close()

    def _follow(self) -> None:
        try:
            self._repeat_step()
        finally:  # whatever a look raises, the tree is ended and the loop hears of it
            self._own_up(sys.exc_info()[1])
            self.let_sleep()
            self._repeat_step()

    def _own_up(self, fault: BaseException | None) -> None:
        """Say that it was our watch that failed: a child that was well until then must not be blamed."""
        if fault is None or self._fault:
            return
        self._fault = f"our watch failed: {type(fault).__name__}: {fault}"
        if not self._is_over:
            self._asked = self._asked or self._fault
        logger("daemon").error(Event.WATCH_FAILED, key=self.order.key, exc_info=fault)

    def _repeat_step(self) -> None:
        while (pause_s := self.step()) is not None:
            self._pause.wait(pause_s)

    def _look(self) -> bool:
        """Say whether it ended, or must."""
        now_s = self._clock.monotonic_s()
        self._keep_awake()
        if not self._is_alive():
            return True
        self._has_stood = self._pulse.beat()
        self._read_journal()
        if self._kill_at_s is not None:
            return now_s >= self._kill_at_s
        if self._asked:
            self._ask_to_end(now_s)
            return False
        self._is_overdue = now_s > self._overdue_at_s
        return self._is_overdue or self._has_stood

    def _keep_awake(self) -> None:
        if self._awake is not None:
            return
        awake = ExitStack()
        try:
            lock = awake.enter_context(self.order.keep_awake(self.process))
        except _NOT_NOW:
            return  # asked again at the next step; the child is watched without it
        self._awake = awake
        if lock is not None:
            self._inbox.put(LockTried(lock.kind, lock.warning, lock.detail))

    def _ask_to_end(self, now_s: float) -> None:
        """TERM to the child alone, which ends its own tree and writes how far it came."""
        try:
            self._processes.ask_to_end(self.process)
        except _NOT_NOW:
            return  # we cannot look now: asked again at the next step
        self._kill_at_s = now_s + self.order.grace_s + STOP_MARGIN_S

    def _is_swept(self) -> bool:
        """End what is left of the tree, read the journal's last lines, and tell.

        Where no descriptor or memory is left it is tried again: an end untold would hold its ticket for ever.
        """
        try:
            self._processes.end_tree(self.process, mark=self.order.key)
        except _NOT_NOW as error:
            if not self._is_postponed:
                logger("daemon").warning(Event.SWEEP_POSTPONED, key=self.order.key, error=str(error))
            self._is_postponed = True
            return False
        try:
            if self._child is not None:
                self._child.poll()
            self._read_journal()
        finally:
            is_success = self._child is not None and self._child.poll() == 0
            self.ending = Ending(self._told(), self._asked, self._is_overdue, is_success)
            self._inbox.put(Ended(self.order.key))
        return True

    def _is_alive(self) -> bool:
        try:
            if self._child is not None:
                return self._child.poll() is None
            return self._processes.is_alive(self.process)
        except _NOT_NOW:
            return True  # we cannot look now: no reason to end it

    def _read_journal(self) -> None:
        while True:
            if not _is_regular(self.order.journal):
                return
            try:
                reading = read_lines(self.order.journal, self._offset)
            except _NOT_NOW:
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

    def _told(self) -> str:
        if self._fault and self._asked == self._fault:
            return self._fault
        if self._is_overdue:
            return f"the process outlived its {format_duration(self.order.wall_s)} and was killed"
        if self._has_stood:
            lease = format_duration(self.order.lease_s)
            return f"the process stood still (stopped by a signal) for its lease of {lease} and was killed"
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
