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

@pytest.mark.rare
def test_rare():
    pass
"""
LEFT = "; the promises are proven with them alone: script/test --all"


@pytest.mark.parametrize("spread", [(), ("-n", "1")], ids=["alone", "by a worker"])
@pytest.mark.parametrize(
    ("marks", "said"), [("not slow and not rare", "4 slow and rare tests"), ("not rare", "1 rare tests")]
)
def test_a_shorter_run_counts_the_tests_that_it_left_out(
    tmp_path: Path, spread: tuple[str, ...], marks: str, said: str
) -> None:
    done = run_pytest(tmp_path, SOURCE, "-m", marks, *spread)
    assert done.returncode == 0, done.stdout
    assert said + LEFT in done.stdout


@pytest.mark.parametrize("options", [(), ("-m", "slow")], ids=["all", "the slow ones"])
def test_a_run_that_leaves_no_slow_test_out_says_nothing(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = run_pytest(tmp_path, SOURCE, *options)
    assert done.returncode == 0, done.stdout
    assert LEFT not in done.stdout
