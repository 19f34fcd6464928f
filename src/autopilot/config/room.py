"""Whether disk or memory is full, and how a last word waits until there is room for it again.

Must not decide what else waits: only what would be lost for good, a run's result and a publisher's verdict.
"""

from __future__ import annotations

import errno
import os
import resource
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from autopilot.schemas.errors import AutopilotError, ConfigError, TransientError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_LEAST_BYTES = 64 * 1024
_PAUSE_S = 1.0
LEAST_BYTES_OF_A_DAEMON = 112 << 20
"""Address space below which a daemon cannot come up; an idle one was seen with 97 MiB."""


def is_full(error: OSError) -> bool:
    """Tell whether it failed for want of room, which passes by itself or by a person's hand."""
    return error.errno in _FULL


def has_no_room(folder: Path) -> bool:
    """Tell whether nothing can be written there: no room, or no entry left for a new file."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    has_entries = disk.f_files == 0 or disk.f_favail > 0  # some file systems do not count them
    return disk.f_bavail * disk.f_frsize < _LEAST_BYTES or not has_entries


def has_no_descriptor() -> bool:
    """Tell whether this process can open nothing more, which passes when it has closed something."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as exc:
        return exc.errno in {errno.EMFILE, errno.ENFILE}
    return False


def log_text(text: str) -> None:
    """Write to our own log, if it takes it: no room there is no reason to end without a result.

    What looks like a credential is masked: a fault may tell what it stumbled over.
    """
    from autopilot.config.tokens import redact  # noqa: PLC0415 - only where something has gone wrong

    with suppress(OSError):
        sys.stderr.write(redact(text))
        sys.stderr.flush()


def memory_short() -> TransientError:
    """Build the error of a machine, or a limit, that gives no more memory: it passes, or a person acts."""
    hint = "end other processes, or raise the limit on memory (ulimit -v)"
    return TransientError("memory-short", "no memory is left", hint=hint)


def unusable(code: str, what: str, error: OSError, *, hint: str) -> AutopilotError:
    """Build the error of a place that cannot be written: to be tried later where it is only full."""
    if is_full(error):
        return TransientError("disk-full", what, hint="free disk space")
    return ConfigError(code, what, hint=hint)


def once_there_is_room(write: Callable[[], None], *, pause_s: float = _PAUSE_S) -> None:
    """Write something that must not be lost; while the disk is full, again and again.

    Whoever started us ends that: by its own limit, or because it stops.

    Raises:
        OSError: it failed for another reason.
    """
    is_told = False
    while True:
        try:
            return write()
        except OSError as exc:
            if not is_full(exc):
                raise
            if not is_told:
                _tell(exc)
            is_told = True
        threading.Event().wait(pause_s)


def _tell(error: OSError) -> None:
    """Say why we wait, on an output that may lie on the same disk."""
    try:
        sys.stderr.write(f"waits for room on the disk: {error}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        return


def require_memory() -> None:
    """Refuse a limit on our address space that nobody could work under, before anything large is loaded.

    Parts written in Rust abort the process where they get no memory, without a word of what was short.

    Raises:
        TransientError: `memory-short`.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY and soft < LEAST_BYTES_OF_A_DAEMON:
        raise memory_short()
