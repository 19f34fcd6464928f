"""Keeping orphans findable: a process that runs foreign code may adopt what its children abandon.

Must not be used by the daemon or the command line: an adopter has to reap strangers.
Source: PR_SET_CHILD_SUBREAPER in prctl(2); docs/decisions/0011.
"""

from __future__ import annotations

import ctypes
import sys

_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37


def adopt_orphans() -> bool:
    """Become the parent of every descendant whose own parent ends. The runner's first act.

    Without it a program that forks twice with an emptied environment cannot be told from a stranger.

    Returns:
        Whether this machine can do that (Linux only).
    """
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def is_adopting() -> bool:
    """Tell whether orphans come to this process."""
    flag = ctypes.c_int(0)
    return _prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(flag)) and flag.value == 1


def _prctl(option: int, argument: object) -> bool:
    if sys.platform != "linux":
        return False
    return bool(ctypes.CDLL(None, use_errno=True).prctl(option, argument, 0, 0, 0) == 0)
