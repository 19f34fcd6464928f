"""How long whoever writes may go on waiting for the database, over several transactions of one thread.

A daemon's tick makes several: each with a patience of its own, they would outlast the watchdog.
"""

from __future__ import annotations

import math
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.config.clock import Clock


class Patience(threading.local):
    """Each thread's own; without end where nobody has set one."""

    def __init__(self) -> None:
        """Begin without an end."""
        self._clock: Clock | None = None
        self._until_s = math.inf

    @property
    def left_s(self) -> float:
        """Give the seconds that are left of it."""
        return math.inf if self._clock is None else max(0.0, self._until_s - self._clock.monotonic_s())

    @contextmanager
    def of(self, seconds: float, clock: Clock) -> Iterator[None]:
        """Wait no longer than that in all, for as long as the block lasts; the first try is always made."""
        before = (self._clock, self._until_s)
        self._clock, self._until_s = clock, min(self._until_s, clock.monotonic_s() + seconds)
        try:
            yield
        finally:
            self._clock, self._until_s = before
