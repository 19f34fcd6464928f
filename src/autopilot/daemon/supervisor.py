"""Starts children, adopts those of an earlier daemon, and knows which are under watch.

Must not decide what a child's end means and must not touch the database.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config.logs import logger
from autopilot.daemon.processes import NOBODY, SystemProcesses
from autopilot.daemon.watch import Watch
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.config.proc import ProcessId
    from autopilot.daemon.inbox import Inbox
    from autopilot.daemon.processes import Handle, Processes
    from autopilot.daemon.watch import Order

JOIN_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What to start, and how to watch it. `env` carries the order's key as AUTOPILOT_RUN_ID."""

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    output: Path
    order: Order


class Supervisor:
    """The children under watch, by run or publication id."""

    def __init__(
        self,
        *,
        clock: Clock,
        inbox: Inbox,
        processes: Processes | None = None,
        start: Callable[[Watch], None] = Watch.start,
    ) -> None:
        """Start with none.

        Args:
            clock: measures time awake.
            inbox: where ends and spending are told.
            processes: where children live; None = this machine.
            start: sets a watch going: a thread each, but in a simulation.
        """
        self._clock = clock
        self._inbox = inbox
        self._processes = SystemProcesses(clock) if processes is None else processes
        self._start = start
        self._watches: dict[str, Watch] = {}
        self._deserted: set[str] = set()

    def start(self, launch: Launch) -> ProcessId:
        """Start a child and watch it.

        Raises:
            SpawnError: it could not be started.
        """
        child = self._processes.spawn(launch.argv, cwd=launch.cwd, env=launch.env, output=launch.output)
        self._watch(launch.order, child.id, child)
        return child.id

    def adopt(self, order: Order, process: ProcessId) -> bool:
        """Watch a child that an earlier daemon started; False when it is gone.

        Where the machine cannot be looked at it may well live: its watch looks again.
        """
        try:
            if not self._processes.is_alive(process):
                return False
        except OSError as error:
            logger("daemon").warning(Event.SWEEP_POSTPONED, key=order.key, error=str(error))
        self._watch(order, process, None)
        return True

    def find(self, order: Order) -> ProcessId | None:
        """Find a child that an earlier daemon started and did not live to write down."""
        try:
            return self._processes.find(order.key)
        except OSError as error:
            logger("daemon").warning(Event.SWEEP_POSTPONED, key=order.key, error=str(error))
        return None

    def clear(self, order: Order, process: ProcessId | None) -> int | None:
        """Sweep up after a child of an earlier daemon that is gone; say how many there were.

        None where the machine cannot be looked at: something of it may live, so that it is watched, and
        its end is told once all of it is gone.
        """
        try:
            return self.sweep(order.key, process)
        except OSError as error:
            logger("daemon").warning(Event.SWEEP_POSTPONED, key=order.key, error=str(error))
        self._watch(order, process or NOBODY, None)
        return None

    def sweep(self, key: str, process: ProcessId | None) -> int:
        """Kill whatever a dead child left running, found by its mark; say how many there were."""
        return self._processes.end_tree(process, mark=key)

    def get(self, key: str) -> Watch | None:
        """Give the watch, also after its end, until `forget`; one that is deserted is set going again."""
        watch = self._watches.get(key)
        if watch is not None and watch.is_deserted:
            self._set_going(watch)
        return watch

    def forget(self, key: str) -> None:
        """Its end has been dealt with."""
        watch = self._watches.pop(key, None)
        self._deserted.discard(key)
        if watch is not None:
            watch.join(JOIN_TIMEOUT_S)

    def forget_ended(self, key: str) -> None:
        """Nobody will deal with its end any more; a child that still lives stays under watch."""
        watch = self.get(key)
        if watch is not None and watch.ending is not None:
            self.forget(key)

    @property
    def is_idle(self) -> bool:
        """Tell whether nothing is under watch and every end has been dealt with."""
        return not self._watches

    def live(self) -> Iterator[Watch]:
        """Give every watch whose child has not ended."""
        return (watch for watch in tuple(self._watches.values()) if watch.ending is None)

    def held(self) -> dict[str, int]:
        """Give the fence of each child that lives and moves on, by its key."""
        return {watch.order.key: watch.order.fence for watch in self.live() if watch.is_steady}

    def forget_strangers(self, known: Container[str]) -> None:
        """Forget each ended child that no run or publication under way is about any more."""
        for key in tuple(self._watches):
            if key not in known:
                self.forget_ended(key)

    def stop_all(self, why: str) -> list[str]:
        """Ask every child to end; name those that were not asked before."""
        return [watch.order.key for watch in self.live() if watch.stop(why)]

    def _watch(self, order: Order, process: ProcessId, child: Handle | None) -> None:
        watch = Watch(
            order,
            process,
            child=child,
            processes=self._processes,
            clock=self._clock,
            inbox=self._inbox,
        )
        self._watches[order.key] = watch
        self._set_going(watch)

    def _set_going(self, watch: Watch) -> None:
        """Where no thread can be had now, `get` tries again: its child is ours, and must be told of."""
        try:
            self._start(watch)
        except (RuntimeError, MemoryError) as error:
            if watch.order.key not in self._deserted:
                logger("daemon").warning(Event.WATCH_POSTPONED, key=watch.order.key, error=str(error))
            self._deserted.add(watch.order.key)
        else:
            self._deserted.discard(watch.order.key)
