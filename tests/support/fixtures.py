"""Fixtures that start the stand-ins and close them again; `tests/conftest.py` names them."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.support.forge.server import Forge


class MakeForge(Protocol):
    """Starts a forge that holds these repositories, one commit each."""

    def __call__(self, *full_names: str) -> Forge: ...


@pytest.fixture
def make_forge(tmp_path: Path) -> Iterator[MakeForge]:
    """As many forges as a test asks for; each is closed when the test ends."""
    with contextlib.ExitStack() as stack:
        made: list[Forge] = []

        def make(*full_names: str) -> Forge:
            forge = stack.enter_context(Forge(tmp_path / f"forge-{len(made)}"))
            made.append(forge)
            for name in full_names:
                forge.repositories.add(name)
            return forge

        yield make
