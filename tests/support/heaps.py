"""The heaps that glibc made for the threads of a process, as its map shows them."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Final

import pytest

HEAP_BYTES: Final = 64 << 20
needs_glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries have other heaps")


def heaps_of_threads(pid: int) -> int:
    """Count them; the heap that a process has from its start is none of them.

    Each is made of 64 MiB of addresses that begin at a multiple of that: what may be written, then the rest.
    Source: glibc, malloc/arena.c, `new_heap`.
    """
    found = 0
    before = (0, 0, "")
    for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
        span, rights, *_ = line.split()
        begin, end = (int(address, 16) for address in span.split("-"))
        is_rest = begin == before[1] and (before[2][:2], rights[:2]) == ("rw", "--")
        found += is_rest and before[0] % HEAP_BYTES == end % HEAP_BYTES == 0
        before = (begin, end, rights)
    return found
