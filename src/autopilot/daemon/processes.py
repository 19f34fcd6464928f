"""What supervision does to processes, as one value: the machine's here, a virtual table in simulations.

Must not decide whom to start or to end.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from autopilot.config import proc
from autopilot.config.logs import logger
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.config.proc import ProcessId

_LOOKS, _LOOK_AGAIN_S = 3, 0.05
NOBODY = proc.ProcessId(-1, 0)


class Handle(Protocol):
    """A child of our own."""

    @property
    def id(self) -> ProcessId:
        """Give its number and when it started."""
        ...

    def poll(self) -> int | None:
        """Give the exit code (negative: the signal) once it has ended."""
        ...


class Processes(Protocol):
    """A table of processes."""

    def spawn(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: Path) -> Handle:
        """Start a program that goes on without us.

        Raises:
            SpawnError: it cannot be started.
        """
        ...

    def find(self, mark: str) -> ProcessId | None:
        """Find the one living process that was spawned under this mark; None where none or several may be it.

        Raises:
            OSError: we cannot look now.
        """
        ...

    def is_alive(self, process: ProcessId) -> bool:
        """Tell whether exactly this process lives.

        Raises:
            OSError: we cannot look now.
        """
        ...

    def is_standing(self, process: ProcessId) -> bool:
        """Tell whether exactly this process lives but was stopped by a signal, and does nothing.

        Raises:
            OSError: we cannot look now.
        """
        ...

    def ask_to_end(self, process: ProcessId) -> None:
        """Send TERM to this process alone, if it lives.

        Raises:
            OSError: we cannot look now.
        """
        ...

    def end_tree(self, process: ProcessId | None, *, mark: str) -> int:
        """Kill a process and all it started, also what only its mark leads to; say how many there were.

        Raises:
            OSError: we cannot look now.
        """
        ...


@dataclass(frozen=True, slots=True)
class SystemProcesses:
    """This machine's processes."""

    clock: Clock

    def spawn(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: Path) -> Handle:
        """Start a program in a session of its own."""
        return proc.spawn(argv, cwd=cwd, env=env, output=output)

    def find(self, mark: str) -> ProcessId | None:
        """Look for it by its last mark, at the head of its session; until exec its child looks like it."""
        pause = threading.Event()
        for _ in range(_LOOKS):
            if (found := proc.started_as(mark)) is not None:
                return found
            pause.wait(_LOOK_AGAIN_S)
        return None

    def is_alive(self, process: ProcessId) -> bool:
        """Look at number and start time: a number comes round again."""
        return proc.is_alive(process)

    def is_standing(self, process: ProcessId) -> bool:
        """Look at its state."""
        return proc.is_standing(process)

    def ask_to_end(self, process: ProcessId) -> None:
        """Send the signal; who has just ended needs none."""
        with suppress(ProcessLookupError):
            if proc.is_alive(process):
                os.kill(process.pid, signal.SIGTERM)

    def end_tree(self, process: ProcessId | None, *, mark: str) -> int:
        """Kill by walk, session and mark; who lives on all the same is named in the log."""

        def tell(survivors: frozenset[ProcessId]) -> None:
            pids = sorted(each.pid for each in survivors)
            logger("daemon").warning(Event.TREE_SURVIVED, key=mark, pids=pids)

        root = process or NOBODY
        return proc.kill_tree(root, grace_s=0.0, clock=self.clock, marker=mark, on_survivors=tell)
