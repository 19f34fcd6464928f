"""How long an example of hypothesis may take: no test here is about time, and a busy machine is no fault."""

from __future__ import annotations

import pytest
from hypothesis import settings


def pytest_configure(config: pytest.Config) -> None:
    """Let every example take the time it takes; the test's own limit stays."""
    settings.register_profile("patient", deadline=None)
    settings.load_profile("patient")
