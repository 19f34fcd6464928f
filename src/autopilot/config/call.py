"""One running child: its limits, its callbacks, its end. `proc.run` is the door to this.

Must not return before the whole tree is gone, whatever a callback or a file raises.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from autopilot.config import procinfo
from autopilot.config.procinfo import ProcessId
from autopilot.config.proctree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from autopilot.config.capture import Streams
    from autopilot.config.cgroup import Group
    from autopilot.config.clock import Clock

_TICK_S = 0.2 if sys.platform == "linux" else 0.02
_WALK_S = 1.0
_LEFTOVER_GRACE_S = 1.0
_NUMBERS_ARE_FRESH_S = 5.0
_DRAIN_CHUNKS = 64  # a pipe holds 1 MiB at most; a stranger may hold its other end and write for ever


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How a process ended. That it could not start at all is a value too: `spawn_error`."""

    code: int | None = None
    signal: int | None = None
    spawn_error: str = ""
    stopped: str = ""
    limit: str = ""
    """Where it was stopped for using too much of the machine: of what, and how much that may be."""
    duration_s: float = 0.0
    output: Path
    tail: bytes = b""
    stderr_tail: bytes = b""
    survivors: tuple[int, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with code 0."""
        return self.code == 0 and not self.stopped


@dataclass(frozen=True, slots=True)
class Rules:
    """When a call is stopped, and who is told what."""

    clock: Clock
    wall_s: float
    grace_s: float
    silence_s: float | None
    on_output: Callable[[bytes], str | None] | None
    should_stop: Callable[[], str | None] | None
    on_start: Callable[[ProcessId], None] | None
    group: Group | None = None


class Process(Protocol):
    """What we need of a started process; `wait` reaps it, so it comes last."""

    pid: int

    def wait(self) -> int:
        """Wait for its end and give its code."""
        ...


class Call:
    """Watches one child to its end."""

    def __init__(
        self, process: Process, *, streams: Streams, rules: Rules, mark: str, before: frozenset[int]
    ) -> None:
        """Take the started process, its streams, the rules, its mark, and who ran before it."""
        self._process = process
        self._streams = streams
        self._rules = rules
        self._on_output = rules.on_output
        self._started_s = self._spoke_s = self._walked_s = rules.clock.monotonic_s()
        seen = procinfo.look(process.pid)
        self._root = seen.id if seen else ProcessId(process.pid, rules.clock.now_ms())
        self._tree = Tree(self._root, mark=mark, before=before, group=rules.group)

    def to_the_end(self, output: Path) -> Exit:
        """Watch, stop when a rule says so, end what is left, and tell how it went."""
        try:
            self._streams.wake_when_ended(self._process.pid)
            if self._rules.on_start is not None:
                self._rules.on_start(self._root)
            stopped = self._watch()
            code, survivors = self._end(by_force=bool(stopped))
        except BaseException:
            self._on_output, self._streams.discards = None, True
            self._end(by_force=True)
            raise
        return Exit(
            code=code if code is not None and code >= 0 else None,
            signal=-code if code is not None and code < 0 else None,
            stopped=stopped,
            duration_s=self._rules.clock.monotonic_s() - self._started_s,
            output=output,
            tail=self._streams.output.tail,
            stderr_tail=self._streams.stderr_tail,
            survivors=tuple(sorted(process.pid for process in survivors)),
        )

    def _watch(self) -> str:
        """Pump until the child has ended (not: until its pipe has, which others may hold open)."""
        while not self._has_ended():
            reason = self._limit_reached() or self._pump(_TICK_S)
            if reason:
                return reason
            now_s = self._rules.clock.monotonic_s()
            if now_s - self._walked_s >= _WALK_S:
                self._tree.look()
                self._walked_s = now_s
        return ""

    def _has_ended(self) -> bool:
        seen = procinfo.look(self._process.pid)
        return seen is None or seen.is_zombie

    def _limit_reached(self) -> str:
        now_s = self._rules.clock.monotonic_s()
        if now_s - self._started_s >= self._rules.wall_s:
            return "wall"
        if self._rules.silence_s is not None and now_s - self._spoke_s >= self._rules.silence_s:
            return "silence"
        if self._streams.is_over_ceiling:
            return "output-ceiling"
        return (self._rules.should_stop() if self._rules.should_stop is not None else None) or ""

    def _pump(self, timeout_s: float) -> str:
        """Move what was printed; give the reason to stop that the callback gave."""
        moved, chunks = self._streams.pump(timeout_s)
        if moved:
            self._spoke_s = self._rules.clock.monotonic_s()
        reasons = [self._on_output(chunk) for chunk in chunks if self._on_output is not None]
        return next(filter(None, reasons), "")

    def _end(self, *, by_force: bool) -> tuple[int | None, frozenset[ProcessId]]:
        """End what lives, take in what was still in the pipe, reap; only now may the number be used again."""
        survivors: frozenset[ProcessId] = frozenset()
        if by_force or self._has_left_something():
            grace_s = self._rules.grace_s if by_force else min(self._rules.grace_s, _LEFTOVER_GRACE_S)
            survivors = self._tree.end(grace_s=grace_s, clock=self._rules.clock, pause=self._pump)
        for _ in range(_DRAIN_CHUNKS):
            if not self._streams.has_input():
                break
            self._pump(0)
        for chunk in self._streams.finish():
            if self._on_output is not None:
                self._on_output(chunk)
        self._tree.reap()
        return (None if self._root in survivors else self._process.wait()), survivors

    def _has_left_something(self) -> bool:
        is_short = self._rules.clock.monotonic_s() - self._started_s < _NUMBERS_ARE_FRESH_S
        return self._tree.has_left_something(numbers_are_fresh=is_short)
