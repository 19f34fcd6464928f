"""The time zone of this process, for as long as a test wants it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def local_zone(name: str) -> Iterator[None]:
    """Live by the clocks of a zone, as the C library knows it; afterwards by those of before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", name)
        time.tzset()
        yield
    time.tzset()
