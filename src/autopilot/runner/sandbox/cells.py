"""A control group for each call, below a group that is ours: the kernel's own limits, and an end at one blow.

Must not go into a group of anybody else's: ours are the scope that our daemon had made for this very process
(`launchd.scope`), and the root where nothing manages the groups. Must not fail: without them others watch.
Source: the kernel's Documentation/admin-guide/cgroup-v2.rst; systemd, "Control Group APIs and Delegation";
docs/decisions/0139.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config import procinfo
from autopilot.config.cgroup import CELL, Group, own_group

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from autopilot.runner.sandbox.bounds import Bounds

CONTROLLERS: Mapping[str, str] = {"memory": "memory", "pids": "processes", "cpu": "processor"}
"""What the kernel calls each of them, and what we bound by it."""
_OWN = "runner"
_SCOPE = re.compile(r"autopilot-.+-[0-9a-f]{6}\.scope")
_MAKER = re.compile(r"(\d+)-(\d+)-(\d+)-\d+")
_TRIES = 5
_PERIOD_US = 100_000


@dataclass(frozen=True, slots=True)
class Cell:
    """The group of one call; `bounded` names what the kernel limits in it."""

    group: Group
    bounded: frozenset[str]

    @property
    def holds_memory(self) -> bool:
        """Whether the kernel bounds the memory of all in it together."""
        return CONTROLLERS["memory"] in self.bounded

    @property
    def holds_processes(self) -> bool:
        """Whether the kernel bounds how many processes and threads are in it."""
        return CONTROLLERS["pids"] in self.bounded

    @property
    def ran_out_of_memory(self) -> bool:
        """Whether the kernel has ended something in it for want of memory."""
        return self.group.count("memory.events", "oom_kill") > 0

    @property
    def was_too_crowded(self) -> bool:
        """Whether the kernel has refused it a process or a thread."""
        return self.group.count("pids.events", "max") > 0


@dataclass(frozen=True, slots=True)
class Cells:
    """Where groups are made. `mark` is that of the run: it finds what is left when its runner is gone."""

    base: Group
    controllers: frozenset[str]
    mark: str = ""
    _numbers: Iterator[int] = field(default_factory=itertools.count, compare=False)

    @classmethod
    def open(cls, mark: str) -> Cells | None:
        """Find a group of ours and get it ready; None where there is none.

        In a scope this process moves into a group of its own, for a group with processes in it limits none
        below it.
        """
        base = _ours()
        if base is None or not os.access(base.path, os.W_OK):
            return None
        _sweep(base)
        wanted = base.controllers() & CONTROLLERS.keys()
        if wanted and not _is_root(base) and not _vacated(base):
            return None
        held = frozenset(each for each in wanted if base.set("cgroup.subtree_control", f"+{each}"))
        return cls(base, held, mark)

    def make(self, bounds: Bounds) -> Cell | None:
        """Make the group of one call and set its limits; None where that cannot be."""
        ours = procinfo.identity_of(os.getpid())
        if ours is None:
            return None
        maker = f"{_numbering()}-{ours.pid}-{ours.started_ms}-{next(self._numbers)}"
        group = Group(self.base.path / ".".join(filter(None, (CELL, self.mark, maker))))
        try:
            group.path.mkdir()
        except OSError:
            return None
        return Cell(group, frozenset(_bound(group, bounds)))


def report() -> str:
    """Say as JSON what the kernel bounds for a process started as this one was; null without groups."""
    found = Cells.open("")
    bounded = None if found is None else sorted(CONTROLLERS[each] for each in found.controllers)
    return json.dumps(bounded)


def _bound(group: Group, bounds: Bounds) -> Iterator[str]:
    """Set what can be set; name what holds."""
    if bounds.memory_bytes is not None and group.set("memory.max", str(bounds.memory_bytes)):
        group.set("memory.swap.max", "0")
        group.set("memory.oom.group", "1")
        yield CONTROLLERS["memory"]
    if bounds.threads is not None and group.set("pids.max", str(bounds.threads)):
        yield CONTROLLERS["pids"]
    if bounds.cpu_percent is not None:
        quota_us = bounds.cpu_percent * _PERIOD_US // 100
        if group.set("cpu.max", f"{quota_us} {_PERIOD_US}"):
            yield CONTROLLERS["cpu"]


def _ours() -> Group | None:
    """Find the scope that was made for us, or the root that nobody manages."""
    own = own_group()
    if own is None:
        return None
    for place in (own.path, own.path.parent):
        if _SCOPE.fullmatch(place.name):
            return Group(place)
    return own if _is_root(own) else None


def _is_root(group: Group) -> bool:
    """Tell the real root, which has no type: only there processes and limited groups live side by side."""
    return (group.path / "cgroup.procs").exists() and not (group.path / "cgroup.type").exists()


def _vacated(base: Group) -> bool:
    """Move all that is ours out of the way, also who started us meanwhile; tell whether that was possible."""
    own = Group(base.path / _OWN)
    with suppress(OSError):
        own.path.mkdir(exist_ok=True)
        for _ in range(_TRIES):
            here = _directly_in(base)
            if not here:
                return True
            for pid in here:
                with suppress(ProcessLookupError):
                    own.take(pid)
    return False


def _directly_in(base: Group) -> list[int]:
    return [int(word) for word in (base.path / "cgroup.procs").read_text(encoding="ascii").split()]


def _numbering() -> str:
    """Name the namespace in which process numbers are what they are to us. Source: namespaces(7)."""
    return (
        "".join(filter(str.isdigit, str(Path("/proc/self/ns/pid").readlink())))
        if sys.platform == "linux"
        else "0"
    )


def _sweep(base: Group) -> None:
    """End and remove what was left by makers of groups that are gone; who counts otherwise may live."""
    with suppress(OSError):
        for folder in base.path.glob(f"{CELL}.*"):
            named = _MAKER.fullmatch(folder.name.rpartition(".")[2])
            if named is None or named[1] != _numbering():
                continue
            if not procinfo.is_alive(procinfo.ProcessId(int(named[2]), int(named[3]))):
                Group(folder).kill()
                Group(folder).remove()
