"""What a test does to the signals of our process ends with it: no child of its neighbours inherits it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.inner_pytest import run_pytest

pytestmark = pytest.mark.timeout(300)  # each starts a pytest of its own
SOURCE = """
import signal
import subprocess

import pytest

NUMBERS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

@pytest.fixture
def deaf():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

@pytest.mark.parametrize("number", [1, 2])
def test_it(deaf, number):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    {fails}

def test_its_neighbour():
    assert signal.SIG_IGN not in [signal.getsignal(each) for each in NUMBERS]
    child = subprocess.Popen(["sleep", "600"])
    child.terminate()
    assert child.wait(60) == -signal.SIGTERM
"""


def test_what_was_ignored_before_the_tests_is_answered_in_them(tmp_path: Path) -> None:
    ignoring = ("sh", "-c", "trap '' HUP INT TERM; exec \"$@\"", "sh")
    assert "3 passed" in run_pytest(tmp_path, SOURCE.format(fails="pass"), before=ignoring).stdout


@pytest.mark.parametrize(("fails", "told"), [("pass", "3 passed"), ("assert False", "2 failed, 1 passed")])
def test_signals_are_given_back(tmp_path: Path, fails: str, told: str) -> None:
    assert told in run_pytest(tmp_path, SOURCE.format(fails=fails)).stdout
