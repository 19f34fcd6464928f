"""The one place where a test waits for something to become true."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_POLL_S = 0.01


def wait_until(predicate: Callable[[], T], timeout_s: float, what: str) -> T:
    """Poll until the predicate gives something truthy, and return that.

    Args:
        predicate: asked again every 10 ms; its errors are not swallowed.
        timeout_s: how long to keep asking.
        what: named in the failure, as in "the daemon answers".

    Raises:
        AssertionError: when the time is up.
    """
    deadline_s = time.monotonic() + timeout_s
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() >= deadline_s:
            raise AssertionError(f"after {timeout_s:g} s still waiting until {what}")
        time.sleep(_POLL_S)
