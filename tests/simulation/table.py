"""The virtual process table: what the product's `Processes` protocol is in the simulated world."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.lease import LOST_SHARE
from autopilot.config.proc import RUN_ID_VARIABLE, ProcessId, SpawnError
from autopilot.schemas.run import Lease
from tests.simulation.ends import ChildHangs, ChildKilled

if TYPE_CHECKING:
    from tests.simulation.world import World

Script = Generator[int, None, int]
"""Each step does something and gives the milliseconds awake until the next; its end is the process's exit."""
TERM_MS = 50
_PIDS = range(100, 112)
"""Few numbers, so that they come round again."""


def ended() -> Script:
    """Do nothing, and end well."""
    yield from ()
    return 0


def unread() -> Script:
    """Its instruction cannot be read: nothing is begun, and nothing written."""
    yield 1
    return 78


@dataclass(eq=False)
class Process:
    """One process, or what is left of it."""

    id: ProcessId
    kind: str
    mark: str
    script: Script = field(default_factory=ended, repr=False)
    on_term: Script | None = field(default=None, repr=False)
    """What it does when asked to end; None: nothing, for it does not listen."""
    due_ms: int | None = None
    """When it goes on, in milliseconds awake; None: it hangs."""
    code: int | None = None
    is_frozen: bool = False
    """SIGSTOP: only KILL reaches it."""
    lease: Path | None = None
    lease_ms: int = 0
    unheard_ms: int = 0
    stamp: int = field(default=0, repr=False)  # of a real file: no two replays show the same

    def poll(self) -> int | None:
        return self.code

    def hold(self, lease: Lease | None) -> None:
        """Live under a lease from now on."""
        if lease is not None:
            self.lease, self.lease_ms = lease.file, round(lease.lease_s * 1000)


class Table:
    """All processes of the machine that are ours or could be taken for ours."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._all: list[Process] = []

    @property
    def living(self) -> list[Process]:
        return [each for each in self._all if each.code is None]

    def spawn(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: Path) -> Process:
        world = self._world
        world.boundary("spawn")
        if world.is_fault(0.04):
            raise SpawnError("spawn-failed", "cannot start: Resource temporarily unavailable")
        output.touch()
        kind = "runner" if "run" in argv else "inquirer" if "state" in argv else "publisher"
        child = self.add(kind, env[RUN_ID_VARIABLE])
        world.bring_to_life(child, Path(argv[-1]))
        world.note(f"spawned {kind} {child.mark} as {child.id.pid}")
        world.boundary("spawned")
        return child

    def find(self, mark: str) -> ProcessId | None:
        self._look()
        found = [each.id for each in self.living if each.mark == mark]
        is_sure = len(found) == 1 and not self._world.is_fault(0.3)  # else somebody else claims to be it
        return found[0] if is_sure else None

    def is_alive(self, process: ProcessId) -> bool:
        self._look()
        return any(each.id == process for each in self.living)

    def is_standing(self, process: ProcessId) -> bool:
        self._look()
        return any(each.id == process and each.is_frozen for each in self.living)

    def mind_leases(self, passed_ms: int) -> None:
        """Each child watches its lease, and ends itself when nobody has renewed it for long."""
        for each in self.living:
            if each.lease is None or each.is_frozen:
                continue
            stamp = each.lease.lstat().st_mtime_ns if each.lease.exists() else 0
            each.unheard_ms = each.unheard_ms + passed_ms if stamp == each.stamp else 0
            each.stamp = stamp
            if each.unheard_ms >= each.lease_ms * LOST_SHARE:
                self._world.note(f"{each.kind} {each.mark} lost its lease")
                each.lease = None
                self._stop(each)

    def ask_to_end(self, process: ProcessId) -> None:
        self._look()
        for each in self.living:
            if each.id == process and not each.is_frozen:
                self._stop(each)

    def end_tree(self, process: ProcessId | None, *, mark: str) -> int:
        self._look()
        found = [each for each in self.living if each.id == process or each.mark == mark]
        for each in found:
            self.end(each, -9)
        return len(found)

    def add(self, kind: str, mark: str) -> Process:
        """A new process, with a number that nobody alive has."""
        taken = {each.id.pid for each in self.living}
        pid = self._world.chance.one_of([pid for pid in _PIDS if pid not in taken])
        child = Process(ProcessId(pid, self._world.next_start_ms()), kind, mark)
        self._all.append(child)
        return child

    def end(self, process: Process, code: int) -> None:
        """It is gone, and its number is free."""
        process.code, process.due_ms = code, None
        self._world.note(f"{process.kind} {process.mark} ended with {code}")

    def end_all(self) -> None:
        """The machine starts anew."""
        for each in self.living:
            self.end(each, -9)

    def go_on(self, process: Process) -> None:
        """One step of one process."""
        process.due_ms = None
        try:
            process.due_ms = self._world.clock.awake_ms + next(process.script)
        except StopIteration as end:
            self.end(process, end.value or 0)
        except ChildKilled:
            self.end(process, -9)
        except ChildHangs:
            self._world.note(f"{process.kind} {process.mark} hangs")

    def _stop(self, process: Process) -> None:
        if process.on_term is not None:
            process.script, process.on_term = process.on_term, None
            process.due_ms = self._world.clock.awake_ms + TERM_MS

    def _look(self) -> None:
        if self._world.is_fault(0.01):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), "/proc")
