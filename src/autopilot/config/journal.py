"""Reads and appends files of JSON lines that one process writes while another reads.

Must not interpret the lines. A line counts once its newline is there, so a reader is never confused by a
writer that is in the middle of one, or was killed there. Stdlib only.
"""

from __future__ import annotations

import errno
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_PRIVATE_MODE = 0o600
_READ_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Reading:
    """What was new: the entries, where to read on (a byte offset), and lines that were no JSON object."""

    entries: tuple[Mapping[str, Any], ...]
    offset: int
    damaged: int = 0


def append_line(path: Path, entry: Mapping[str, Any]) -> None:
    """Add one entry with a single write, so that two writers cannot mix their lines.

    Behind half a line, which a writer that was killed has left, a new one is begun.

    Raises:
        OSError: the line could not be written whole; ENOSPC where only a part of it found room.
    """
    line = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, _PRIVATE_MODE)
    try:
        if is_torn(handle):
            line = b"\n" + line
        written = os.write(handle, line)
    finally:
        os.close(handle)
    if written != len(line):
        raise OSError(errno.ENOSPC, f"only {written} of {len(line)} bytes of a line went to {path}")


def is_torn(handle: int) -> bool:
    """Tell whether an open file, which can be read, ends in the middle of a line."""
    size = os.fstat(handle).st_size
    return size > 0 and os.pread(handle, 1, size - 1) != b"\n"


def read_lines(path: Path, offset: int = 0, *, max_bytes: int = _READ_BYTES) -> Reading:
    """Read the complete lines after `offset`; a missing file has none.

    Args:
        path: the file.
        offset: where the last reading ended, in bytes. A file that has become shorter is read from its start.
        max_bytes: the most to read at once; call again with the new offset for the rest. A single line that
            is longer is skipped and counted as damaged.

    Returns:
        The entries and the next offset, which stays before a line that is not finished yet.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            start = offset if offset <= size else 0
            file.seek(start)
            data = file.read(min(max_bytes, size - start))  # asked for more, Python takes that much memory
    except FileNotFoundError:
        return Reading((), 0)
    end = data.rfind(b"\n") + 1
    if end == 0:
        is_monster = len(data) == max_bytes
        return Reading((), start + len(data), 1) if is_monster else Reading((), start)
    entries = [read_object(line) for line in data[:end].splitlines() if line.strip()]
    good = tuple(entry for entry in entries if entry is not None)
    return Reading(good, start + end, len(entries) - len(good))


def read_object(line: bytes) -> Mapping[str, Any] | None:
    """Read one JSON object, with broken characters replaced; None when the line is none."""
    if not line.startswith(b"{"):
        return None
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
