"""How our memory is kept: one heap for all threads, large pieces outside of it, and what modules bring aside.

Must not be needed: where the system's library cannot be told, nothing is done.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
LARGE_BYTES = 128 * 1024
"""glibc's own first threshold; left alone, it rises to whatever was freed last, up to 32 MiB."""


def share_one_heap() -> bool:
    """Keep the memory of all threads together; to be called before the first of them is started.

    glibc makes more heaps for threads that ask at the same moment, up to eight for each processor, and what
    is freed in one is of no use to another. Threads that come and go, one for a child and one for a call,
    leave a little in each. What is large gets pages of its own, which the system has back at once.

    Returns:
        Whether the library was told.

    Source: mallopt(3), M_ARENA_MAX and M_MMAP_THRESHOLD; glibc, malloc/malloc.h; docs/decisions/0107.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    is_one, is_apart = mallopt(_ARENA_MAX, 1), mallopt(_MMAP_THRESHOLD, LARGE_BYTES)
    return bool(is_one and is_apart)


@contextmanager
def loading() -> Iterator[None]:
    """Let the collector rest while modules are imported in the block, and never look at what they brought.

    Modules stay as long as the process. Looking at them again and again while more of them come is a seventh
    of a start, and once more at each later look at everything. Whoever has the collector off keeps it off.

    Source: docs.python.org/3/library/gc.html, `gc.freeze`.
    """
    if not gc.isenabled():
        yield
        return
    known = len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) > known:
            gc.freeze()
        gc.enable()
