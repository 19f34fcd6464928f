"""Linux: a view of the file system made for one program, and namespaces of its own, by bubblewrap.

Must not put an environment or a secret among its arguments, which every user of the machine can read.
Source: bwrap(1); docs/decisions/0115 and 0116.
"""

from __future__ import annotations

import json
import os
import platform
import signal
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.plain import one_line
from autopilot.runner.sandbox import system
from autopilot.runner.sandbox.bounds import UNBOUNDED, Bounds
from autopilot.runner.sandbox.confinement import Wrapped
from autopilot.runner.sandbox.crowd import most_threads
from autopilot.runner.sandbox.gate import Gate, failed
from autopilot.runner.sandbox.seccomp import call_filter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from autopilot.config.proc import Exit
    from autopilot.runner.sandbox.cells import Cell, Cells
    from autopilot.runner.sandbox.confinement import Confinement
    from autopilot.runner.sandbox.toolchain import Toolchain
    from autopilot.schemas.cell import OpenedKind

_APART = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox"),
)
_OWN = ("--proc", "/proc", "--dev", "/dev")
_IN_MEMORY: Mapping[str, int] = {"/tmp": 2, "/var/tmp": 8, "/run": 8, "/dev/shm": 8}  # noqa: S108 - inside
"""What lies in memory there, and which part of what may be used each may hold.

By itself a tmpfs takes half of the machine; together these would take twice as much as there is.
"""
# Of the kernel's own files. To root the whole of /proc is root's own, whatever namespace it is in: the core
# pattern alone would be a command of the attacker's outside. Source: the OCI runtime's default masks.
_KERNELS = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "asound", "driver", "tty")
_KERNELS_SECRETS = (
    "kcore",
    "keys",
    "key-users",
    "kallsyms",
    "kmsg",
    "timer_list",
    "sched_debug",
    "vmallocinfo",
)
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - inside
_PROCESSORS = Path("/sys/devices/system/cpu")
_RESOLVER = Path("/run/systemd/resolve")
_PACKAGE, _NAMES = "autopilot.runner.sandbox", ("hosts", "hostname", "machine-id")
_CANNOT_EXEC = "bwrap: execvp "
_OF_A_SIGNAL = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Bubblewrap:
    """Starts the program in a new mount, user, PID, IPC, UTS and network namespace; see `Sandbox`."""

    program: Path
    toolchain: Toolchain
    readable: tuple[Path, ...] = ()
    masked: tuple[Path, ...] = ()
    options: tuple[str, ...] = ()
    nested: bool = False
    bounds: Bounds = UNBOUNDED
    cells: Cells | None = None
    has_sizes: bool = False
    """Whether it can bound what lies in memory (0.8 can)."""
    limiter: str | None = None
    """The program prlimit: of what one process asks for too much, the kernel itself gives nothing."""
    kind: OpenedKind = "bubblewrap"

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
        """Put bubblewrap and its arguments before the program; the environment goes through as it is."""
        own = (
            *self._limited(cell),
            str(self.program),
            "--json-status-fd",
            str(status),
            *_APART,
            *self.options,
        )
        view = tuple(self._view(env, confinement))
        calls = self._filter()
        filtered = ("--seccomp", str(calls)) if calls is not None else ()
        passed = () if calls is None else (calls,)
        program = ("--chdir", str(confinement.cwd), "--", *argv)
        is_counted = cell is not None and cell.holds_processes
        threads = None if is_counted else most_threads(self.bounds.threads, is_apart=True)
        if cell is None and threads is None:
            return Wrapped((*own, *filtered, *view, *program), env, passed)
        gate = Gate.shut(cell.group if cell is not None else None, threads)
        whole = (*own, *filtered, *gate.options, *view, *program)
        return Wrapped(whole, env, (*passed, *gate.passed), kept=gate.kept, on_start=gate.open)

    def _filter(self) -> int | None:
        """Give a descriptor to read the filter of system calls from."""
        program = call_filter(platform.machine(), unix=True, inet="all", namespaces=self.nested)
        if program is None:
            return None
        descriptor = os.memfd_create("filter")
        os.write(descriptor, program)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def _limited(self, cell: Cell | None) -> tuple[str, ...]:
        """Put prlimit first; where the kernel bounds all of it together, no one's requests have to fail."""
        memory = None if cell is not None and cell.holds_memory else self.bounds.memory_bytes
        if self.limiter is None or self.bounds == UNBOUNDED:
            return ()
        data = () if memory is None else (f"--data={memory}",)
        files = () if self.bounds.file_bytes is None else (f"--fsize={self.bounds.file_bytes}",)
        return (self.limiter, *data, *files, "--core=0", "--")

    def _in_memory(self) -> Iterator[str]:
        most = self.bounds.memory_bytes if self.has_sizes else None
        for place, part in _IN_MEMORY.items():
            if most is not None:
                yield from ("--perms", "1777", "--size", str(most // part), "--tmpfs", place)
            elif place != _SHARED_MEMORY:  # which lies in /dev
                yield from ("--tmpfs", place)

    def read(self, ended: Exit, told: bytes) -> Exit:
        """Tell the program's end from the sandbox's own: only a program that began has an exit code.

        Raises:
            SandboxError: it never began.
        """
        if ended.spawn_error:
            raise failed(ended.spawn_error)
        if ended.stopped or ended.signal is not None:
            return ended
        code = _exit_code(told)
        if code is None:
            said = (ended.stderr_tail or ended.tail).decode("utf-8", "replace")
            lines = [line for line in said.splitlines() if line.startswith("bwrap: ")]
            last = lines[-1] if lines else said
            if last.startswith(_CANNOT_EXEC):
                why = f"cannot start {last.removeprefix(_CANNOT_EXEC)} (in the sandbox)"
                return replace(ended, code=None, spawn_error=why)
            raise failed(one_line(last) or f"it ended with code {ended.code} and said nothing")
        number = code - _OF_A_SIGNAL
        if number in set(signal.Signals):
            return replace(ended, code=None, signal=number)
        return replace(ended, code=code)

    def _view(self, env: Mapping[str, str], confinement: Confinement) -> Iterator[str]:
        """Lay the view out, from the outside in: what comes later lies over what came before."""
        tools = (
            *self.toolchain.needed(env.get("PATH", ""), confinement.programs, inside=confinement.own),
            *self.readable,
        )
        yield from _system()
        if not confinement.shares_network:
            yield from _own_name()
        yield from _hidden((*self.masked, *self.toolchain.homes), system.FOLDERS)
        yield from _OWN
        yield from self._in_memory()
        yield from _kernel()
        for place in (_PROCESSORS, *((_RESOLVER,) if confinement.shares_network else ()), *tools):
            yield from _shown(place)
        yield from _hidden(self.toolchain.closed, (*system.FOLDERS, *tools))
        sockets = (each for each in (confinement.outlet, confinement.guard_socket) if each)
        for place in (*confinement.readable, *sockets):
            # A link in what is shown already leads there by itself, and nothing can be laid over it.
            yield from _shown(place.resolve() if _is_link_below(place, tools) else place)
        for place in confinement.writable:
            yield from _shown(place, how="--bind")
        for place in confinement.protected:
            yield from _shown(place)
        yield from ("--remount-ro", "/")
        if not confinement.shares_network:
            yield "--unshare-net"


def _system() -> Iterator[str]:
    """Show the system's folders, as folders or as the links that they are."""
    for folder in system.FOLDERS:
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        elif folder.is_dir():
            yield from _shown(folder)


def _own_name() -> Iterator[str]:
    """Lay over what tells the machine's name and neighbours; the name inside is found by whoever asks."""
    for name in _NAMES:
        place = Path("/etc", name).resolve()
        if place.is_file() and system.is_system(place):
            yield from ("--ro-bind", str(resources.files(_PACKAGE) / "etc" / name), str(place))


def _kernel() -> Iterator[str]:
    """Lay the kernel's own files over with what can be read only, or with nothing."""
    for place in (Path("/proc", name) for name in _KERNELS):
        if place.exists():
            yield from ("--ro-bind", str(place), str(place))
    for place in (Path("/proc", name) for name in _KERNELS_SECRETS):
        if place.exists():
            yield from ("--ro-bind", os.devnull, str(place))


def _hidden(places: Sequence[Path], shown: Sequence[Path]) -> Iterator[str]:
    """Lay emptiness over what a folder that is shown would bring along."""
    for place in (each for each in places if any(each.is_relative_to(one) for one in shown)):
        if place.is_dir() and not place.is_symlink():
            yield from ("--tmpfs", str(place), "--remount-ro", str(place))
        elif place.is_file():
            yield from ("--ro-bind", os.devnull, str(place))


def _shown(place: Path, how: str = "--ro-bind") -> Iterator[str]:
    """Show what is there, under its name and, where links lead to it, under its real one."""
    if not place.exists():
        return
    real = place.resolve()
    if real != place:
        yield from (how, str(real), str(real))
    yield from (how, str(real), str(place))


def _is_link_below(place: Path, shown: Sequence[Path]) -> bool:
    return place.is_symlink() and any(place.is_relative_to(each) for each in shown)


def _exit_code(told: bytes) -> int | None:
    """Find the exit code of the program; bubblewrap tells one only when it could be started at all."""
    for line in told.splitlines():
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(said, dict) and isinstance(said.get("exit-code"), int):
            return int(said["exit-code"])
    return None
