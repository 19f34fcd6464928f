"""What most tests of the daemon begin with; a module that needs another stage has its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autopilot.daemon.store import writes
from tests.support.couriers import DESK, TEAM, Errands
from tests.support.shop import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    writes.turn_on(stage.store, by="test")
    yield stage
    stage.store.close()


@pytest.fixture
def make_errands(tmp_path: Path) -> Iterator[Callable[..., Errands]]:
    """A shop whose digest goes to a channel, with the courier that takes it there."""
    stages: list[Stage] = []

    def one(config: str = 'report_channels = ["team"]\n') -> Errands:
        stage = Stage(tmp_path, config=config + TEAM + DESK)
        writes.turn_on(stage.store, by="test", ignore_window=True)
        stages.append(stage)
        return Errands(stage)

    yield one
    for stage in stages:
        stage.store.close()
