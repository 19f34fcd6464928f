"""Reads and fingerprints files that the code under test may have written.

Must not follow a link, wait on a pipe, or read without a bound.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from autopilot.config import foreign_file
from autopilot.config.foreign_file import UnreadableError, open_plain
from autopilot.schemas.gate import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["UnreadableError"]

MAX_REPORT_BYTES = 64 * 1024 * 1024

_CHUNK_BYTES = 1024 * 1024
_SUMMARY_BYTES = 1024 * 1024


def read_plain(path: Path, *, max_bytes: int = MAX_REPORT_BYTES) -> bytes:
    """Read a whole plain file.

    Raises:
        UnreadableError: it is absent, no plain file, or larger than `max_bytes`.
    """
    return foreign_file.read_plain(path, max_bytes=max_bytes)


def digest_of(path: Path) -> str:
    """Give a plain file's SHA-256 in hex.

    Raises:
        UnreadableError: it is absent or no plain file.
    """
    sha256 = hashlib.sha256()
    with os.fdopen(open_plain(path), "rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            sha256.update(chunk)
    return sha256.hexdigest()


def evidence(root: Path, paths: Iterable[Path]) -> tuple[Evidence, ...]:
    """Name and fingerprint the files that exist; a missing one is no evidence."""
    found = []
    for path in paths:
        try:
            found.append(Evidence(path=path.relative_to(root).as_posix(), sha256=digest_of(path)))
        except UnreadableError:
            continue
    return tuple(found)


def log_end(path: Path) -> bytes:
    """Give the last megabyte of a log; empty when there is none."""
    try:
        with os.fdopen(open_plain(path), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _SUMMARY_BYTES))
            return file.read(_SUMMARY_BYTES)
    except UnreadableError:
        return b""


def command_digest(argv: Sequence[str]) -> str:
    """Fingerprint a command: its words, each ended by a NUL."""
    return hashlib.sha256(b"".join(os.fsencode(word) + b"\0" for word in argv)).hexdigest()
