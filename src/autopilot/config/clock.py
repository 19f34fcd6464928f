"""The only place that reads a clock. Everything else is given a `Clock`.

`now_ms` is what a record carries; `monotonic_s` measures time awake, so that a laptop that slept does not
make an agent look silent (CLOCK_MONOTONIC on Linux and mach_absolute_time on macOS stop during sleep);
`elapsed_s` counts sleep too, so that a wall clock that was set is told from a machine that slept.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


# Linux: clock_getres(2), CLOCK_BOOTTIME. macOS: clock_gettime(3), CLOCK_MONOTONIC goes on while asleep.
_COUNTS_SLEEP = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """Time as a value: the real one here, a virtual one in tests."""

    def now_ms(self) -> int:
        """Give UTC milliseconds since 1970."""

    def monotonic_s(self) -> float:
        """Give seconds that never go back and do not count sleep."""

    def elapsed_s(self) -> float:
        """Give seconds that never go back and count sleep."""


class SystemClock:
    """This machine's clock."""

    __slots__ = ()

    def now_ms(self) -> int:
        """Give UTC milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        """Give seconds that never go back and do not count sleep."""
        return time.monotonic()

    def elapsed_s(self) -> float:
        """Give seconds that never go back and count sleep."""
        return time.clock_gettime(_COUNTS_SLEEP)


def look_at_zone() -> None:
    """Notice that the host has moved to another time zone.

    Source: tzset(3): `localtime_r`, which Python calls, need not look at /etc/localtime again by itself.
    """
    time.tzset()
