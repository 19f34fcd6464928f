"""What one process is: its number, its start, its parent and session, and the mark we put on it.

Must not signal anything. On Linux this reads /proc itself: psutil derives a start from the wall clock, so a
clock step would make a living runner look like a stranger, and importing it costs every runner 20 ms.
Source: docs/decisions/0011.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.foreign_file import SHORTAGES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType

MARK_VARIABLE = "AUTOPILOT_TREE"
_IS_LINUX = sys.platform == "linux"
_MARK_SEPARATOR = "/"
_SANDBOX = b"bwrap"
"""We are out of descriptors or memory: that says nothing about whom we look at."""


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process that cannot be confused with a later one of the same number.

    `started_ms` only identifies: milliseconds since boot on Linux, since 1970 elsewhere.
    """

    pid: int
    started_ms: int


@dataclass(frozen=True, slots=True)
class Seen:
    """One look at a process."""

    id: ProcessId
    parent: int
    session: int
    is_zombie: bool
    is_stopped: bool = False
    """By a signal or a debugger: it lives, and does nothing until somebody lets it go on."""
    is_sandbox: bool = False
    """Bubblewrap itself: asked to end it would kill at once what it holds; it ends when that has ended."""
    threads: int = 1


def boot_id() -> str | None:
    """Name this boot of the machine; None where the system has no name for it.

    Source: random(4), /proc/sys/kernel/random/boot_id: made anew at every boot, and no clock is asked.
    """
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip() or None
    except OSError:
        return None


def all_pids() -> frozenset[int]:
    """Name every process that this user can see."""
    if _IS_LINUX:
        return frozenset(int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit())
    return frozenset(_psutil().pids())


def look(pid: int) -> Seen | None:
    """Look at a process, a zombie too; None when there is none.

    Raises:
        OSError: we have no descriptor or memory left to look with.
    """
    if _IS_LINUX:
        return _look_into_proc(pid)
    psutil = _psutil()
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            return Seen(
                id=ProcessId(pid, round(process.create_time() * 1000)),
                parent=process.ppid(),
                session=os.getsid(pid),
                is_zombie=process.status() == psutil.STATUS_ZOMBIE,
                is_stopped=process.status() in {psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP},
                threads=process.num_threads(),
            )
    except psutil.Error:
        return None
    except OSError as exc:
        raise_if_blind(exc)
        return None


def _look_into_proc(pid: int) -> Seen | None:
    """Read /proc/PID/stat.

    Source: proc_pid_stat(5). The name in brackets may hold blanks and brackets. A leader that has ended
    while its threads go on is shown as a zombie too, hence the look at the number of threads.
    """
    try:
        raw = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError as exc:
        raise_if_blind(exc)
        return None
    fields = raw[raw.rindex(b")") + 2 :].split()
    state, parent, session, threads, ticks = (fields[index] for index in (0, 1, 3, 17, 19))
    return Seen(
        id=ProcessId(pid, int(ticks) * 1000 // os.sysconf("SC_CLK_TCK")),
        parent=int(parent),
        session=int(session),
        is_zombie=state in {b"Z", b"X"} and int(threads) <= 1,
        is_stopped=state in {b"T", b"t"},
        is_sandbox=raw[raw.index(b"(") + 1 : raw.rindex(b")")] == _SANDBOX,
        threads=int(threads),
    )


def raise_if_blind(error: OSError) -> None:
    """Raise an error that is our own want of descriptors or memory."""
    if error.errno in SHORTAGES:
        raise error


def _mark_value(pid: int) -> str | None:
    if _IS_LINUX:
        return _mark_value_in_proc(pid)
    psutil = _psutil()
    try:
        return str(psutil.Process(pid).environ().get(MARK_VARIABLE, ""))
    except psutil.Error:
        return None
    except OSError as exc:
        raise_if_blind(exc)
        return None


def _mark_value_in_proc(pid: int) -> str | None:
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError as exc:
        raise_if_blind(exc)
        return None
    prefix = f"{MARK_VARIABLE}=".encode()
    values = [entry[len(prefix) :] for entry in raw.split(b"\0") if entry.startswith(prefix)]
    return values[0].decode("ascii", "replace") if values else ""


def _psutil() -> ModuleType:
    import psutil  # noqa: PLC0415  not needed on Linux, where every runner would wait for it

    return psutil


def look_at(pids: Iterable[int]) -> dict[int, Seen]:
    """Look at each; those that are gone are left out."""
    return {pid: seen for pid in pids if (seen := look(pid)) is not None}


def identity_of(pid: int) -> ProcessId | None:
    """Identify a living process; None when it is gone or only waits to be reaped."""
    seen = look(pid)
    return seen.id if seen is not None and not seen.is_zombie else None


def is_alive(process: ProcessId) -> bool:
    """Tell whether exactly this process still runs; a zombie or a re-used number does not count."""
    return identity_of(process.pid) == process


def is_standing(process: ProcessId) -> bool:
    """Tell whether exactly this process was stopped by a signal or a debugger, and does nothing."""
    seen = look(process.pid)
    return seen is not None and seen.id == process and seen.is_stopped


def marks_of(pid: int) -> frozenset[str] | None:
    """Give the marks a process was started with; None when its environment cannot be read."""
    value = _mark_value(pid)
    return None if value is None else frozenset(value.split(_MARK_SEPARATOR)) - {""}


def started_as(mark: str) -> ProcessId | None:
    """Find the one living process that was itself started under this mark, in a session of its own.

    What it has started in turn carries one more mark after this one. None also where several claim to be it:
    an agent may put any mark on what it starts.

    Raises:
        OSError: we have no descriptor or memory left to look with.
    """
    heads = [row for pid, row in look_at(all_pids()).items() if row.session == pid and not row.is_zombie]
    found = [row.id for row in heads if (_mark_value(row.id.pid) or "").split(_MARK_SEPARATOR)[-1] == mark]
    return found[0] if len(found) == 1 else None


def marked(env: Mapping[str, str], mark: str) -> dict[str, str]:
    """Give a child's environment that carries our own marks and, after them, one more.

    So a sweep for an outer mark also finds what an inner call of ours has started.
    """
    outer = os.environ.get(MARK_VARIABLE, "")
    return {**env, MARK_VARIABLE: _MARK_SEPARATOR.join(filter(None, (outer, mark)))}
