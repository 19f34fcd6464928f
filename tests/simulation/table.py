"""The virtual process table: what the product's `Processes` protocol is in the simulated world."""

from __future__ import annotations

import errno
import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.lease import LOST_SHARE
from autopilot.config.proc import RUN_ID_VARIABLE, ProcessId, SpawnError
from autopilot.schemas.run import Lease
from tests.simulation.ends import ChildHangs, ChildKilled, Script

if TYPE_CHECKING:
    from tests.simulation.strands import Strand
    from tests.simulation.world import World

TERM_MS = 50
_SURVIVES = 0.5
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


def _stamp(lease: Path) -> int:
    try:
        return os.stat(lease, follow_symlinks=False).st_mtime_ns  # noqa: PTH116 - some hundred times in a seed
    except FileNotFoundError:
        return 0


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
    """SIGSTOP: only KILL reaches it, until it is let go on."""
    is_asked: bool = False
    """TERM came while it was frozen, and waits."""
    has_survived: bool = False
    """A kill did not end it (it waits in the kernel, say): it may go on when somebody has its place."""
    lease: Path | None = None
    lease_ms: int = 0
    unheard_ms: int = 0
    strand: Strand | None = field(default=None, repr=False)
    stamp: int = field(default=0, repr=False)  # of a real file: no two replays show the same

    @property
    def is_ready(self) -> bool:
        """Whether it does something when its time has come."""
        return self.due_ms is not None and not self.is_frozen

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
        self._all = [each for each in self._all if each.code is None]
        return self._all.copy()

    def spawn(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: Path) -> Process:
        world = self._world
        world.boundary("spawn")
        if world.is_fault(0.04):
            raise SpawnError("spawn-failed", "cannot start: Resource temporarily unavailable")
        output.touch()
        acts = {
            "run": "runner",
            "state": "inquirer",
            "deliver": "courier",
            "autopilot.daemon.checkup": "look",
        }
        kind = next((kind for act, kind in acts.items() if act in argv), "publisher")
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
            stamp = _stamp(each.lease)
            each.unheard_ms = each.unheard_ms + passed_ms if stamp == each.stamp else 0
            each.stamp = stamp
            if each.unheard_ms >= each.lease_ms * LOST_SHARE:
                self._world.note(f"{each.kind} {each.mark} lost its lease")
                each.lease = None
                self._stop(each)

    def ask_to_end(self, process: ProcessId) -> None:
        self._look()
        for each in self.living:
            if each.id == process and each.is_frozen:
                each.is_asked = True
            elif each.id == process:
                self._stop(each)

    def end_tree(self, process: ProcessId | None, *, mark: str) -> int:
        self._look()
        found = [each for each in self.living if each.id == process or each.mark == mark]
        for each in found:
            if each.kind == "publisher" and self._world.is_fault(_SURVIVES):
                each.has_survived = each.is_frozen = True
                self._world.note(f"{each.kind} {each.mark} survives a kill")
            else:
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
        self._cut(process)

    def end_all(self) -> None:
        """The machine starts anew."""
        for each in self.living:
            self.end(each, -9)

    def go_on(self, process: Process) -> None:
        """One step of one process."""
        process.due_ms = None
        try:
            wait_ms = next(process.script)
            process.due_ms = None if wait_ms is None else self._world.clock.awake_ms + wait_ms
            if process.strand is not None and process.strand.wants_frozen:
                process.is_frozen, process.strand.wants_frozen = True, False
        except StopIteration as end:
            self.end(process, end.value or 0)
        except ChildKilled:
            self.end(process, -9)
        except ChildHangs:
            self._world.note(f"{process.kind} {process.mark} hangs")

    def freeze_or_wake(self) -> None:
        """Somebody sends SIGSTOP to one of them, or SIGCONT, or what it waited for comes after all."""
        still = [each for each in self.living if each.is_frozen or each.due_ms is None]
        if still and self._world.chance.is_hit(0.7):
            survivors = [each for each in still if each.has_survived]
            self._wake(self._world.chance.one_of(survivors or still))
        elif moving := [each for each in self.living if each.is_ready and self._is_of_the_storm(each)]:
            child = self._world.chance.one_of(moving)
            child.is_frozen = True
            self._world.note(f"{child.kind} {child.mark} is frozen")

    def _is_of_the_storm(self, process: Process) -> bool:
        return not self._world.is_stormy or process.kind == "publisher"

    def disturb(self, successor: Process) -> None:
        """Whose place is taken may wake just then."""
        for each in self.living:
            if each.has_survived and each.mark == successor.mark and self._world.chance.is_hit(0.5):
                self._wake(each)
                if each.due_ms is not None:
                    each.due_ms = self._world.clock.awake_ms + self._world.chance.between(0, 5000)

    def settle(self) -> None:
        """Whatever a kill had not ended is ended now."""
        for each in self.living:
            if each.has_survived:
                self.end(each, -9)

    def close(self) -> None:
        """The world is over."""
        for each in self.living:
            each.script.close()

    def _wake(self, process: Process) -> None:
        process.is_frozen = False
        if process.due_ms is None and inspect.getgeneratorstate(process.script) != inspect.GEN_CLOSED:
            process.due_ms = self._world.clock.awake_ms
        self._world.note(f"{process.kind} {process.mark} wakes")
        if process.is_asked:
            self._stop(process)

    def _stop(self, process: Process) -> None:
        if process.on_term is not None:
            self._cut(process)
            process.script, process.on_term = process.on_term, None
            process.due_ms = self._world.clock.awake_ms + TERM_MS

    def _cut(self, process: Process) -> None:
        """It does not go on where it is; what it had sent may still be on its way."""
        if process.strand is not None:
            self._world.forge.outlive(process.strand)
        process.script.close()

    def _look(self) -> None:
        if self._world.is_fault(0.01):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), "/proc")
