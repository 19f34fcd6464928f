"""A clock that a test moves, and a store that is in order when the test ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.clock import FakeClock

if TYPE_CHECKING:
    from autopilot.daemon.store.engine import Store


@pytest.fixture
def clock() -> FakeClock:
    """Stands still until the test moves it."""
    return FakeClock()


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    """A new store, switched on; every invariant must hold at the end."""
    from tests.support import in_order, queue  # a test without a store must not pay for SQLAlchemy

    opened = queue.new_store(tmp_path, clock)
    yield opened
    in_order.assert_in_order(opened)
    opened.close()
