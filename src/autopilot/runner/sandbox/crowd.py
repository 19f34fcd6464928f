"""How many threads the kernel itself gives to what is locked up, where no control group counts them.

RLIMIT_NPROC counts what a user has all over the machine, but since Linux 5.14 also what it has in each user
namespace by itself. Root's are counted by nobody: there the watch alone holds (`bounds`).
Source: setrlimit(2); Linux 5.14, kernel/ucount.c and kernel/fork.c; docs/decisions/0158.
"""

from __future__ import annotations

import platform
import re
import resource
import sys
from contextlib import suppress
from pathlib import Path

_COUNTED_APART_SINCE = (5, 14)


def most_threads(most: int | None, *, is_apart: bool) -> int | None:
    """Give what RLIMIT_NPROC is to be; None where there is no bound, or no such count.

    Args:
        most: threads that all that is locked up may have.
        is_apart: whether it is in a user namespace of its own.
    """
    if most is None or sys.platform != "linux":
        return None
    if is_apart and _release() >= _COUNTED_APART_SINCE:
        return most
    # What there is on the whole machine is never less than what is counted against this user now.
    there = _threads_of_machine()
    return None if there is None else there + most


def bound_threads(pid: int, most: int) -> None:
    """Set it for a process that waits for us, and so for all that it will start; who is gone needs none.

    A bubblewrap that belongs to root lets nobody set it: the watch holds then.
    """
    with suppress(ProcessLookupError, PermissionError):
        _, hard = resource.prlimit(pid, resource.RLIMIT_NPROC)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.prlimit(pid, resource.RLIMIT_NPROC, (least, least))


def _release() -> tuple[int, ...]:
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    return tuple(map(int, found.groups())) if found else (0,)


def _threads_of_machine() -> int | None:
    """Count them, those of other namespaces too. Source: proc_loadavg(5)."""
    try:
        return int(Path("/proc/loadavg").read_text(encoding="ascii").split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return None
