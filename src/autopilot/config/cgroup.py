"""Control groups of version 2: what a group holds, has met with, and how all in it are ended at one blow.

Must not make a group, or change one, that nobody handed to us: which are ours is decided by who makes them.
Source: the kernel's Documentation/admin-guide/cgroup-v2.rst; docs/decisions/0139.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

CELL = "autopilot-cell"
"""How the name of each group begins that one call was started in; after it, between dots, its run's mark."""
GOES_FIRST = "500"
"""More than any desktop gives a browser's tab; a process may always raise its own, without any right."""
_PROC = Path("/proc")
_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Group:
    """One control group; whatever cannot be read of it, because it is gone, is nothing."""

    path: Path

    def members(self) -> frozenset[int]:
        """Name the living processes in it and in the groups below it; one that waits to be reaped is not."""
        found: set[int] = set()
        with suppress(OSError):
            for folder, _, _ in os.walk(self.path):
                found.update(int(word) for word in _words(Path(folder, "cgroup.procs")))
        return frozenset(found - {0})  # whom our own numbering has no number for

    @property
    def is_populated(self) -> bool:
        """Whether anybody lives in it or below, also one whose number is another at each look."""
        return self.count("cgroup.events", "populated") > 0

    def take(self, pid: int) -> None:
        """Move a process in; what it starts from now on is in here too.

        Raises:
            OSError: it is gone, or may not be moved.
        """
        (self.path / "cgroup.procs").write_text(f"{pid}\n", encoding="ascii")

    def take_first_victim(self, pid: int) -> None:
        """Move a process in that is to go first, with all it starts, when there is no memory left.

        Raises:
            OSError: it is gone, or may not be moved.
        """
        self.take(pid)
        with suppress(OSError):  # a set-uid program's belongs to root
            (_PROC / str(pid) / "oom_score_adj").write_text(GOES_FIRST, encoding="ascii")

    def set(self, name: str, value: str) -> bool:
        """Set a limit; tell whether it holds now: the controller may not be handed to this group."""
        try:
            with (self.path / name).open("r+", encoding="ascii") as file:  # never makes a file
                file.write(value)
        except OSError:
            return False
        return True

    def count(self, file: str, event: str) -> int:
        """Tell how often something has happened in it, by the words of `memory.events` or `pids.events`."""
        words = _words(self.path / file)
        return int(words[words.index(event) + 1]) if event in words[:-1] else 0

    def controllers(self) -> frozenset[str]:
        """Name what may be limited in groups below this one."""
        return frozenset(_words(self.path / "cgroup.controllers"))

    def kill(self) -> None:
        """End all in it at one blow, which no fork outruns; before Linux 5.14 nothing happens."""
        self.set("cgroup.kill", "1")

    def remove(self) -> bool:
        """Remove it and what is below it; tell whether it is gone: one with a process in it stays."""
        with suppress(OSError):
            for folder, _, _ in os.walk(self.path, topdown=False):
                Path(folder).rmdir()
        return not self.path.exists()


def own_group() -> Group | None:
    """Give the group that we are in; None where there is no version 2, or it is not mounted."""
    return group_of("self")


def group_of(pid: int | str) -> Group | None:
    """Give the group that a process is in, as far as it can be reached from here."""
    if sys.platform != "linux":
        return None
    with suppress(OSError):
        place = _line_of_two((_PROC / str(pid) / "cgroup").read_text(encoding="utf-8", errors="replace"))
        mounts = (_PROC / "self/mountinfo").read_text(encoding="utf-8", errors="replace")
        found = place_of(place, mounts) if place else None
        return Group(found) if found is not None else None
    return None


def cell_of(pid: int, mark: str) -> Group | None:
    """Give the cell with this mark in its name that a process is in."""
    if mark not in cell_marks(pid) or (group := group_of(pid)) is None:
        return None
    above = (group.path, *group.path.parents)
    return next((Group(each) for each in above if mark in marks_in(each.name)), None)


def cell_marks(pid: int) -> frozenset[str]:
    """Give the marks in the name of the cell that a process is in: those it cannot throw away."""
    with suppress(OSError):
        raw = (_PROC / str(pid) / "cgroup").read_bytes()
        if CELL.encode() in raw:
            return marks_in(_line_of_two(raw.decode("utf-8", "replace")))
    return frozenset()


def marks_in(place: str) -> frozenset[str]:
    """Read the marks out of the path of a group."""
    cells = (part.split(".") for part in place.split("/") if part.startswith(f"{CELL}."))
    return frozenset(mark for _, *marks in cells for mark in marks)


def place_of(place: str, mounts: str) -> Path | None:
    """Find where a group's folder is.

    Args:
        place: its path in the hierarchy, as /proc/PID/cgroup has it.
        mounts: the text of /proc/self/mountinfo.

    Source: cgroups(7), "/proc files"; proc_pid_mountinfo(5).
    """
    for line in mounts.splitlines():
        fields, _, kind = line.partition(" - ")
        if kind.split(" ", 1)[0] != "cgroup2":
            continue
        root, mounted = (_plain(word) for word in fields.split()[3:5])
        if root in {place, "/"} or place.startswith(f"{root}/"):
            return Path(mounted, place.removeprefix(root).lstrip("/"))
    return None


def _line_of_two(text: str) -> str:
    return next((line[3:] for line in text.splitlines() if line.startswith("0::/")), "")


def _plain(word: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), word)


def _words(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="ascii").split()
    except OSError:
        return []
