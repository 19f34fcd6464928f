"""Starts children, adopts those of an earlier daemon, and knows which are under watch.

Must not decide what a child's end means and must not touch the database.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config import proc
from autopilot.daemon.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.daemon.inbox import Inbox
    from autopilot.daemon.watch import Order

NOBODY = proc.ProcessId(-1, 0)
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

    def __init__(self, *, clock: Clock, inbox: Inbox) -> None:
        """Start with none."""
        self._clock = clock
        self._inbox = inbox
        self._watches: dict[str, Watch] = {}

    def start(self, launch: Launch) -> proc.ProcessId:
        """Start a child and watch it.

        Raises:
            SpawnError: it could not be started.
        """
        child = proc.spawn(launch.argv, cwd=launch.cwd, env=launch.env, output=launch.output)
        self._watch(launch.order, child.id, child)
        return child.id

    def adopt(self, order: Order, process: proc.ProcessId) -> bool:
        """Watch a child that an earlier daemon started; False when it is gone."""
        if not proc.is_alive(process):
            return False
        self._watch(order, process, None)
        return True

    def sweep(self, key: str, process: proc.ProcessId | None) -> int:
        """Kill whatever a dead child left running, found by its mark; say how many there were."""
        return proc.kill_tree(process or NOBODY, grace_s=0.0, clock=self._clock, marker=key)

    def get(self, key: str) -> Watch | None:
        """Give the watch, also after its end, until `forget`."""
        return self._watches.get(key)

    def forget(self, key: str) -> None:
        """Its end has been dealt with."""
        watch = self._watches.pop(key, None)
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

    def stop_all(self, why: str) -> list[str]:
        """Ask every child to end; name those that were not asked before."""
        return [watch.order.key for watch in self.live() if watch.stop(why)]

    def _watch(self, order: Order, process: proc.ProcessId, child: proc.Child | None) -> None:
        watch = Watch(order, process, child=child, clock=self._clock, inbox=self._inbox)
        self._watches[order.key] = watch
        watch.start()
