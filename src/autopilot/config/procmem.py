"""How much memory processes take together, what they share counted once.

Must not end anything, and must not cost much: a rough count first, which is never too low, and a close look
only where that is over. Source: proc_pid_status(5), proc_pid_smaps(5), memfd_create(2); docs/decisions/0159.
"""

from __future__ import annotations

import itertools
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from autopilot.config.procinfo import raise_if_blind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

_PROC = Path("/proc")
_IS_LINUX = sys.platform == "linux"
_KIB, _BLOCK = 1024, 512
_MAPPED_ROUGHLY = frozenset({b"RssAnon", b"RssShmem", b"VmSwap"})
_MAPPED = frozenset({b"Pss_Anon", b"Pss_Shmem", b"SwapPss"})
_OF_A_MAPPING = frozenset({b"Pss", b"SwapPss"})
_PATH_AT = 4
_MEMFD = "/memfd:"
_MOST_DESCRIPTORS = 4096
_MOST_DESCRIPTORS_OF_ALL = 100_000


def is_more(pids: Collection[int], most_bytes: int) -> bool:
    """Tell whether these use more than this; who is gone uses nothing.

    Counted are anonymous memory, shared or not, what of it was swapped out, and files in memory (memfd) that
    one of them has open, also those that nobody has mapped. Of shared memory each has its part.
    """
    if not _IS_LINUX:
        return sum(map(_resident, pids)) > most_bytes
    rough = {pid: _sum(_PROC / str(pid) / "status", _MAPPED_ROUGHLY) or 0 for pid in pids}
    files = _files_in_memory(pids)
    in_files = sum(files.values())
    if sum(rough.values()) + in_files <= most_bytes:
        return False
    mapped = sum(_closely(pid, about) for pid, about in rough.items())
    # What is open and mapped was counted twice.
    twice = sum(_mapped_of(pid, files) for pid in pids) if files else 0
    return mapped + in_files - min(twice, in_files) > most_bytes


def _closely(pid: int, about: int) -> int:
    """Look closely; one that lets nobody look, by being no program of ours to debug, counts as it seems."""
    seen = _sum(_PROC / str(pid) / "smaps_rollup", _MAPPED)
    return about if seen is None else seen


def _resident(pid: int) -> int:
    import psutil  # noqa: PLC0415 - not needed on Linux, where every runner would wait for it

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


def _sum(file: Path, names: Collection[bytes]) -> int | None:
    """Add up the lines of these names, in bytes; None where we may not look."""
    try:
        lines = file.read_bytes().splitlines()
    except PermissionError:
        return None
    except OSError as exc:
        raise_if_blind(exc)
        return 0
    parts = (line.partition(b":") for line in lines)
    return sum(int(value.split()[0]) * _KIB for name, _, value in parts if name in names)


def _files_in_memory(pids: Iterable[int]) -> Mapping[int, int]:
    """Give the bytes of each that one of them has open, by its number."""
    places = itertools.chain.from_iterable(map(_descriptors, pids))
    found: dict[int, int] = {}
    for place in itertools.islice(places, _MOST_DESCRIPTORS_OF_ALL):
        with suppress(OSError):
            if os.readlink(place).startswith(_MEMFD):  # noqa: PTH115 - of thousands of them
                status = os.stat(place)  # noqa: PTH116 - as above
                found[status.st_ino] = status.st_blocks * _BLOCK
    return found


def _descriptors(pid: int) -> Iterator[str]:
    try:
        with os.scandir(f"/proc/{pid}/fd") as entries:
            yield from (entry.path for entry in itertools.islice(entries, _MOST_DESCRIPTORS))
    except OSError as exc:
        raise_if_blind(exc)


def _mapped_of(pid: int, files: Collection[int]) -> int:
    """Give the bytes that a process has mapped of these files, its part of what others have mapped too."""
    folder, total, is_one = _PROC / str(pid), 0, False
    with suppress(OSError):
        if _MEMFD.encode() not in (folder / "maps").read_bytes():
            return 0
        for line in (folder / "smaps").read_bytes().splitlines():
            first, *rest = line.split()
            if not first.endswith(b":"):
                is_one = len(rest) > _PATH_AT and rest[_PATH_AT].startswith(_MEMFD.encode())
                is_one = is_one and int(rest[_PATH_AT - 1]) in files
            elif is_one and first[:-1] in _OF_A_MAPPING:
                total += int(rest[0]) * _KIB
    return total
