"""How much of the machine everything that is locked up may use together, and who notices.

Must not end anything: it gives the reason for which the call that watches ends the whole tree. What the
kernel bounds in the call's control group (`cells`) is not added up here.
Source: docs/decisions/0117 and 0139.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config import procinfo
from autopilot.config.procmem import is_more
from autopilot.config.proctree import with_descendants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from autopilot.config.clock import Clock
    from autopilot.config.procinfo import Seen
    from autopilot.runner.sandbox.cells import Cell
    from autopilot.schemas.cell import SandboxSpec

RESOURCE_LIMIT = "resource-limit"
_LOOK_EVERY_S, _SELDOM_S = 0.5, 5.0
_PART_OF_THE_TIME = 20
_SHARE = 0.75
_THREADS_PER_PROCESS = 4


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most memory in bytes, processes, percent of one processor, bytes of a file; None = no bound."""

    memory_bytes: int | None = None
    processes: int | None = None
    cpu_percent: int | None = None
    file_bytes: int | None = None

    @classmethod
    def of_spec(cls, spec: SandboxSpec) -> Bounds:
        """Take what a run was told; 0 MiB of memory is three quarters of this machine's."""
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        memory_bytes = (spec.memory_mib << 20) or round(whole * _SHARE)
        cpu_percent, file_bytes = spec.cpu_percent or None, (spec.disk_mib << 20) or None
        return cls(memory_bytes, spec.max_processes, cpu_percent, file_bytes)

    @property
    def threads(self) -> int | None:
        """How many threads all may have: what the kernel gives, where it counts, and the watch allows."""
        return None if self.processes is None else self.processes * _THREADS_PER_PROCESS

    @property
    def memory(self) -> str:
        """Say that there was more memory than this."""
        return f"more than {(self.memory_bytes or 0) >> 20} MiB of memory ([sandbox] memory_mib)"

    @property
    def large_file(self) -> str:
        """Say that a file was to be larger than this."""
        return f"a file of more than {(self.file_bytes or 0) >> 20} MiB ([sandbox] disk_mib)"

    @property
    def crowd(self) -> str:
        """Say that there were more processes than this."""
        return f"more than {self.processes} processes ([sandbox] max_processes)"

    @property
    def throng(self) -> str:
        """Say that there were more threads than this."""
        return f"more than {self.threads} threads, {_THREADS_PER_PROCESS} for each of [sandbox] max_processes"


UNBOUNDED = Bounds()


class Watchman:
    """Looks at what one call has started: its group, and descendants of ours, as orphans come to us too."""

    def __init__(self, bounds: Bounds, clock: Clock, cell: Cell | None = None) -> None:
        """Begin: what was there before is not looked at, nor what lives a moment only."""
        self.bounds, self.clock, self.cell = bounds, clock, cell
        self.reached = ""
        self._before = procinfo.all_pids()
        self._next_s = clock.monotonic_s() + _LOOK_EVERY_S
        self._memory = None if cell is not None and cell.holds_memory else bounds.memory_bytes

    def or_over(self, should_stop: Callable[[], str | None] | None) -> Callable[[], str | None]:
        """Ask somebody else first, then look."""
        return lambda: (should_stop() if should_stop is not None else None) or self.over()

    def over(self) -> str | None:
        """Give the reason to end it all, when it uses more than it may; `reached` says which bound it was."""
        self.reached = self._over()
        return RESOURCE_LIMIT if self.reached else None

    def _over(self) -> str:
        pids = procinfo.all_pids()
        most = self.bounds.processes
        is_crowd = most is not None and len(pids - self._before) > most
        now_s = self.clock.monotonic_s()
        if now_s < self._next_s and not is_crowd:
            return ""
        found = self._found(pids)
        # However many there are to look at, we take no more than a small part of the time.
        done_s = self.clock.monotonic_s()
        self._next_s = done_s + min(_SELDOM_S, max(_LOOK_EVERY_S, (done_s - now_s) * _PART_OF_THE_TIME))
        return found

    def _found(self, pids: frozenset[int]) -> str:
        if self.cell is not None and self.cell.was_too_crowded:
            return self.bounds.crowd
        ours, most = os.getpid(), self.bounds.processes
        rows = procinfo.look_at(pids)
        members = with_descendants({ours}, rows) - self._before - {ours}
        if self.cell is not None:
            members |= self.cell.group.members()
        if most is not None and len(members) > most:
            return self.bounds.crowd
        # Where the kernel counts too, it gives none beyond: one that has them all stands before its refusal.
        if self.bounds.threads is not None and _threads(members, rows) >= self.bounds.threads:
            return self.bounds.throng
        is_over = self._memory is not None and is_more(members, self._memory)
        return self.bounds.memory if is_over else ""


def _threads(members: Iterable[int], rows: Mapping[int, Seen]) -> int:
    return sum(rows[pid].threads for pid in members if pid in rows)
