"""Linux without bubblewrap, or without user namespaces: Landlock for files, a filter for system calls.

Weaker than bubblewrap, and docs/security.md says in what. Must not be chosen where bubblewrap works.
Source: landlock(7); docs/decisions/0119.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.runner.sandbox import system
from autopilot.runner.sandbox.bounds import UNBOUNDED, Bounds
from autopilot.runner.sandbox.confinement import Wrapped
from autopilot.runner.sandbox.crowd import most_threads
from autopilot.runner.sandbox.seccomp import call_filter
from autopilot.runner.sandbox.starter import read_starter, started_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from autopilot.config.proc import Exit
    from autopilot.runner.sandbox.cells import Cell, Cells
    from autopilot.runner.sandbox.confinement import Confinement
    from autopilot.runner.sandbox.toolchain import Toolchain
    from autopilot.schemas.cell import OpenedKind

_DEVICES = tuple(Path("/dev", name) for name in ("null", "zero", "full", "random", "urandom", "tty"))
_LOOSE = 256
_RESOLVER = Path("/run/systemd/resolve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Landlock:
    """Starts the program in a Landlock domain with a seccomp filter; see `Sandbox`."""

    toolchain: Toolchain
    machine: str
    readable: tuple[Path, ...] = ()
    masked: tuple[Path, ...] = ()
    nested: bool = False
    bounds: Bounds = UNBOUNDED
    cells: Cells | None = None
    instead: str = ""
    """Why the stronger one that was asked for first is not there."""
    kind: OpenedKind = "landlock"

    def check(self) -> None:
        """Nothing: it was tried when it was chosen."""

    def wrap(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        confinement: Confinement,
        *,
        status: int,
        cell: Cell | None = None,
    ) -> Wrapped:
        """Put our starter before the program, which becomes it; TMPDIR is in its home where it has none."""
        rules = json.dumps({**self._rules(env, confinement), **self._bounds(cell)}, separators=(",", ":"))
        scratch = confinement.home / "tmp"
        scratch.mkdir(mode=0o700, exist_ok=True)
        return Wrapped(
            started_by("landlock_start.py", rules, str(status), argv=argv), {"TMPDIR": str(scratch), **env}
        )

    def read(self, ended: Exit, told: bytes) -> Exit:
        """Take the end as it is, for the starter became the program, unless it tells that it could not.

        Raises:
            SandboxError: the program was never started.
        """
        return read_starter(ended, told, name="Landlock")

    def _rules(self, env: Mapping[str, str], confinement: Confinement) -> Mapping[str, object]:
        hidden = (*self.masked, *self.toolchain.homes, *self.toolchain.closed)
        tools = (
            *self.toolchain.needed(env.get("PATH", ""), confinement.programs, inside=confinement.own),
            *self.readable,
        )
        read, listed = _without((*system.FOLDERS, *tools), hidden)
        extra = (Path("/proc"), Path("/sys/devices/system/cpu"))
        own = (*confinement.readable, *((_RESOLVER,) if confinement.shares_network else ()))
        reached = [each for each in (confinement.outlet, confinement.guard_socket) if each]
        program = call_filter(
            self.machine,
            unix=bool(reached) or confinement.shares_network,
            inet="all" if confinement.shares_network else "stream" if confinement.outlet else "none",
            namespaces=self.nested,
            others=True,
        )
        return {
            "read": _names((*read, *tools, *extra, *own)),
            "list": _names(listed),
            "write": _names((*_split(confinement.writable, confinement.protected), *_DEVICES, *reached)),
            "network": confinement.shares_network,
            "ports": list(confinement.ports),
            "filter": (program or b"").hex(),
        }

    def _bounds(self, cell: Cell | None) -> Mapping[str, object]:
        memory = 0 if cell is not None and cell.holds_memory else self.bounds.memory_bytes or 0
        is_counted = cell is not None and cell.holds_processes
        threads = None if is_counted else most_threads(self.bounds.threads, is_apart=False)
        joined = str(cell.group.path) if cell is not None else ""
        file = self.bounds.file_bytes or 0
        return {"group": joined, "memory": memory, "threads": threads or 0, "file": file}


def _without(shown: Iterable[Path], hidden: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Give the largest folders that hold nothing hidden, and those above them: their names are told."""
    whole: list[Path] = []
    parts: list[Path] = []
    todo = [each for each in shown if each.exists()]
    while todo:
        place = todo.pop()
        if any(place == each or place.is_relative_to(each) for each in hidden):
            continue
        if place.is_dir() and any(each.is_relative_to(place) for each in hidden):
            parts.append(place)
            todo.extend(place.iterdir())
        else:
            whole.append(place)
    return whole, parts


def _split(writable: Sequence[Path], protected: Sequence[Path]) -> Iterator[Path]:
    """Give what may be written; a folder with a protected folder in it only by its other folders.

    A rule allows a whole subtree, and nothing takes a part of it away again.
    """
    for place in writable:
        closed = [each for each in protected if each.parent == place and each.is_dir()]
        if not closed:
            yield place
            continue
        names = [f"{number:02x}" for number in range(_LOOSE)] + ["pack"] if place.name == "objects" else []
        for name in names or ["heads", "tags", "notes"]:
            (place / name).mkdir(mode=0o700, exist_ok=True)
        yield from (each for each in place.iterdir() if each.is_dir() and each not in closed)


def _names(places: Iterable[Path]) -> list[str]:
    return list(dict.fromkeys(str(each) for each in places if each.exists()))
