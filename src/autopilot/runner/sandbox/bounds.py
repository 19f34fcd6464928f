"""How much of the machine everything that is locked up may use together, and who notices.

Must not end anything: it gives the reason for which the call that watches ends the whole tree.
Source: docs/decisions/0117.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config import procinfo
from autopilot.config.proctree import with_descendants

if TYPE_CHECKING:
    from collections.abc import Callable

    from autopilot.config.clock import Clock

RESOURCE_LIMIT = "resource-limit"
_LOOK_EVERY_S = 0.5
_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most memory in bytes and the most processes; None = no bound."""

    memory_bytes: int | None = None
    processes: int | None = None

    @classmethod
    def of(cls, memory_mib: int, processes: int) -> Bounds:
        """Take what the operator configured; 0 MiB is three quarters of this machine's memory."""
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return cls((memory_mib << 20) or round(whole * _SHARE), processes)


UNBOUNDED = Bounds()


class Watchman:
    """Looks at what one call has started: all descendants of ours, as orphans come to us too."""

    def __init__(self, bounds: Bounds, clock: Clock) -> None:
        """Begin: what was there before is not looked at, nor what lives a moment only."""
        self.bounds, self.clock = bounds, clock
        self._before = procinfo.all_pids()
        self._looked_s = clock.monotonic_s()

    def or_over(self, should_stop: Callable[[], str | None] | None) -> Callable[[], str | None]:
        """Ask somebody else first, then look."""
        return lambda: (should_stop() if should_stop is not None else None) or self.over()

    def over(self) -> str | None:
        """Give the reason to end it all, when it uses more than it may."""
        pids = procinfo.all_pids()
        most = self.bounds.processes
        is_crowd = most is not None and len(pids - self._before) > most
        now_s = self.clock.monotonic_s()
        if now_s - self._looked_s < _LOOK_EVERY_S and not is_crowd:
            return None
        self._looked_s = now_s
        ours = os.getpid()
        members = with_descendants({ours}, procinfo.look_at(pids)) - self._before - {ours}
        if most is not None and len(members) > most:
            return RESOURCE_LIMIT
        memory = self.bounds.memory_bytes
        is_over = memory is not None and sum(map(procinfo.own_memory, members)) > memory
        return RESOURCE_LIMIT if is_over else None
