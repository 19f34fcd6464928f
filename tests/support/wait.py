"""The one place where a test waits for something to become true."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_POLL_S = 0.01
_GROWTH = 1.1
_BUSY = 3.0
"""How much longer than on a quiet machine it may take: a busy one is no fault, and waiting costs nothing."""
PATIENT_S = 0.1
"""Between two looks at what stays true once it is: asking costs the one who is asked."""


def wait_until(
    predicate: Callable[[], T], timeout_s: float, what: str, *, longest_pause_s: float = 0.02
) -> T:
    """Poll until the predicate gives something truthy, and return that.

    Args:
        predicate: asked again after 10 ms, then ever more seldom; its errors are not swallowed.
        timeout_s: how long to keep asking, on a quiet machine.
        what: named in the failure, as in "the daemon answers".
        longest_pause_s: how seldom at most; small by default, for what may pass by.

    Raises:
        AssertionError: when the time is up.
    """
    deadline_s = time.monotonic() + timeout_s * _BUSY
    pause_s = _POLL_S
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() >= deadline_s:
            raise AssertionError(f"after {timeout_s * _BUSY:g} s still waiting until {what}")
        time.sleep(pause_s)
        pause_s = min(pause_s * _GROWTH, longest_pause_s)
