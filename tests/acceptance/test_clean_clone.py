"""The scripts set themselves up in a checkout where nothing of ours was ever installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.tree import ROOT, tree_files

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A person's environment with an empty home; package index settings stay."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AUTOPILOT_", "COV_", "COVERAGE_", "PYTEST_", "PYTHON", "VIRTUAL_ENV"))
    }
    return kept | {"HOME": str(tmp_path_factory.mktemp("home")), "LC_ALL": "C.UTF-8"}


def run(words: list[str | Path], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd="/", env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory, elsewhere: dict[str, str]) -> Path:
    """This tree copied to a folder with a space in its name, set up for the demonstration."""
    folder = tmp_path_factory.mktemp("clean") / "the checkout"
    for path in tree_files():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, folder / path)
    done = run([folder / "script" / "bootstrap", "--runtime"], elsewhere)
    if "pip failed" in done.stderr and os.environ.get("CI") != "true":
        pytest.skip(f"the locked packages cannot be had here: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    return folder


def test_a_second_bootstrap_finds_nothing_to_do(checkout: Path, elsewhere: dict[str, str]) -> None:
    done = run([checkout / "script" / "bootstrap", "--runtime"], elsewhere)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_unknown_option_of_bootstrap_is_named(checkout: Path, elsewhere: dict[str, str]) -> None:
    done = run([checkout / "script" / "bootstrap", "--nonsense"], elsewhere)
    assert done.returncode == 2
    assert "--nonsense" in done.stderr


def test_without_a_new_enough_python_bootstrap_says_how_to_get_one(
    checkout: Path, elsewhere: dict[str, str], tmp_path: Path
) -> None:
    for program in ("env", "bash", "dirname"):
        (tmp_path / program).symlink_to(shutil.which(program) or program)
    done = run([checkout / "script" / "bootstrap"], elsewhere | {"PATH": str(tmp_path)})
    assert done.returncode == 78
    assert "no Python >= 3.11" in done.stderr


def test_the_demonstration_ends_well_and_again(checkout: Path, elsewhere: dict[str, str]) -> None:
    for _ in range(2):
        done = run([checkout / "script" / "demo"], elsewhere)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Draft pull request: local://" in done.stdout
