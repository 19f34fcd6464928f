"""A short run says what it does not prove."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.inner_pytest import run_pytest

pytestmark = pytest.mark.timeout(300)  # each starts a pytest of its own
SOURCE = """
import pytest

def test_quick():
    pass

@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2, 3])
def test_slow(number):
    pass
"""
SAID = "3 slow tests; the promises are proven with them alone: script/test --all"


@pytest.mark.parametrize("spread", [(), ("-n", "1")], ids=["alone", "by a worker"])
def test_a_short_run_counts_the_slow_tests_that_it_left_out(tmp_path: Path, spread: tuple[str, ...]) -> None:
    done = run_pytest(tmp_path, SOURCE, "-m", "not slow", *spread)
    assert done.returncode == 0, done.stdout
    assert SAID in done.stdout


@pytest.mark.parametrize("options", [(), ("-m", "slow")], ids=["all", "the slow ones"])
def test_a_run_that_leaves_no_slow_test_out_says_nothing(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = run_pytest(tmp_path, SOURCE, *options)
    assert done.returncode == 0, done.stdout
    assert "slow tests;" not in done.stdout
