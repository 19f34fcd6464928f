"""Starts of the daemon that came to nothing: how many in a row, and why the last one did.

A file of its own: what keeps a daemon from starting may well be the database. Must not keep a start from
happening, or from failing for its own reason: where it cannot be written, nothing is remembered.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from autopilot.config.atomic import write_atomically
from autopilot.config.foreign_file import UnreadableError, read_plain
from autopilot.config.plain import one_line
from autopilot.config.room import memory_short
from autopilot.schemas.errors import AutopilotError, RefusedError
from autopilot.schemas.records import EpochMs, Record
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths

_MAX_BYTES = 64 * 1024
_MAX_CHARS = 300
_NO_WORD = "it ended without a word before it was ready"


class FailedStarts(Record):
    """The series that has not ended yet."""

    count: int = Field(ge=1)
    pid: int
    """Of the process that was counted last."""
    last_ms: EpochMs
    reason: str
    hint: str = ""


def failed_starts(paths: Paths) -> FailedStarts | None:
    """Give the series, or None where the last start came up."""
    try:
        return FailedStarts.model_validate_json(read_plain(paths.failed_starts, max_bytes=_MAX_BYTES))
    except (UnreadableError, ValidationError):
        return None


@contextmanager
def counted(paths: Paths, clock: Clock) -> Iterator[None]:
    """Count what ends the block, unless the daemon was up by then.

    That another daemon holds the place is no failure of this kind: nothing is wrong.
    """
    try:
        yield
    except RefusedError:
        raise
    except (AutopilotError, MemoryError) as exc:
        error = memory_short() if isinstance(exc, MemoryError) else exc
        if not fail(paths, clock, error):
            _count(paths, clock, error.what, error.hint)
        raise error from exc.__cause__


def begin(paths: Paths, clock: Clock) -> None:
    """Count this start, which now holds the place; if the process is killed, this is all that is known."""
    _count(paths, clock, _NO_WORD, "")


def fail(paths: Paths, clock: Clock, error: AutopilotError) -> bool:
    """Say why the start that `begin` counted came to nothing; False where it counted none, or was up."""
    known = failed_starts(paths)
    if known is None or known.pid != os.getpid():
        return False
    reason = one_line(error.what, max_chars=_MAX_CHARS)
    _write(paths, known.model_copy(update={"reason": reason, "hint": error.hint, "last_ms": clock.now_ms()}))
    return True


def is_up(paths: Paths) -> None:
    """End the series."""
    with suppress(OSError):
        paths.failed_starts.unlink(missing_ok=True)


def given_up(paths: Paths, clock: Clock, *, how: str, restarts: int) -> FailedStarts:
    """Note that whoever keeps the daemon starts it no more; the reason of the last start stays in it."""
    known = failed_starts(paths)
    last = f"; the last start: {known.reason}" if known else ""
    reason = one_line(f"the service was given up ({how}){last}", max_chars=_MAX_CHARS)
    noted = FailedStarts(
        count=max(known.count if known else 1, restarts + 1),
        pid=known.pid if known else 0,
        last_ms=clock.now_ms(),
        reason=reason,
        hint="mend that, then: autopilot on",
    )
    _write(paths, noted)
    return noted


def is_hopeless(paths: Paths, clock: Clock, *, count: int, within_s: float) -> bool:
    """Tell whether so many starts in a row failed that the next would too, the last a short time ago."""
    known = failed_starts(paths)
    if known is None or known.count < count:
        return False
    # What a clock that was set back by now calls the future was no short time ago.
    return abs(clock.now_ms() - known.last_ms) < within_s * MS_PER_S


def _count(paths: Paths, clock: Clock, what: str, hint: str) -> None:
    known = failed_starts(paths)
    count, reason = 1 if known is None else known.count + 1, one_line(what, max_chars=_MAX_CHARS)
    _write(
        paths,
        FailedStarts(count=count, pid=os.getpid(), last_ms=clock.now_ms(), reason=reason, hint=hint),
    )


def _write(paths: Paths, value: FailedStarts) -> None:
    with suppress(OSError):
        write_atomically(paths.failed_starts, value.model_dump_json().encode())
