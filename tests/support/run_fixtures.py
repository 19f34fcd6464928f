"""Fixtures of the tests that play runs and clean up after them; `tests/conftest.py` names them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import canary
from tests.support.runs import Host
from tests.support.shop import Stage
from tests.support.small_project import small_repo
from tests.support.yard import Yard


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """Where runs are played in this process; what the person's shell exports shows up nowhere."""
    for name, value in canary.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    host = Host(tmp_path / "state")
    yield host
    canary.assert_unseen(host.state)


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    """A queue and what its runs left on the disk."""
    yard = Yard(Stage(tmp_path / "home"), small_repo(tmp_path / "theirs"))
    yield yard
    yard.stage.store.close()
