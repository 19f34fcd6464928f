"""What the architecture tests read once."""

from __future__ import annotations

import pytest

from tests.architecture.source import Module, modules


@pytest.fixture(scope="session")
def checkout() -> list[Module]:
    """Every Python file of the checkout, parsed."""
    return modules()
