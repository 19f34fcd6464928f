"""What fails is told when it fails, not only at the end, which a run that is cut off does not reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.inner_pytest import run_pytest

pytestmark = pytest.mark.timeout(300)  # each starts a pytest of its own
SOURCE = """
import os
import pytest

@pytest.fixture
def unready():
    raise LookupError("nothing is ready")

def test_first():
    assert 1 + 1 == 3, "the sum is wrong"

def test_second(unready):
    pass

def test_last():
    {end}
"""


@pytest.mark.parametrize("spread", [(), ("-n", "1")], ids=["alone", "by a worker"])
def test_a_failure_is_told_before_the_run_ends(tmp_path: Path, spread: tuple[str, ...]) -> None:
    said = run_pytest(tmp_path, SOURCE.format(end="pass"), *spread).stdout
    early = said[: said.index("= ERRORS =")]
    assert "failed (call): test_made_up.py::test_first" in early
    assert "test_made_up.py:10: AssertionError: the sum is wrong" in early
    assert "failed (setup): test_made_up.py::test_second" in early
    assert "LookupError: nothing is ready" in early
    assert "test_last" not in early


def test_a_failure_is_told_though_the_run_is_killed(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, SOURCE.format(end="os.kill(os.getpid(), 9)"))
    assert done.returncode == -9
    assert "failed (call): test_made_up.py::test_first" in done.stdout
