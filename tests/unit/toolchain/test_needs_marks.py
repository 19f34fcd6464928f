from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.inner_pytest import run_pytest
from tests.support.needs import is_here

WANTS = """
import pytest

@pytest.mark.needs(binary="git", apt="git")
def test_wants_a_program():
    pass

def test_wants_nothing():
    pass
"""


@pytest.fixture
def no_programs(tmp_path: Path) -> dict[str, str]:
    """An environment in which no program is found."""
    assert shutil.which("git") is not None
    return {"PATH": str(tmp_path / "empty")}


def test_a_missing_program_skips_and_the_summary_names_the_command(
    tmp_path: Path, no_programs: dict[str, str]
) -> None:
    done = run_pytest(tmp_path, WANTS, environment=no_programs)
    assert done.returncode == 0
    assert "1 passed, 1 skipped" in done.stdout
    assert "apt-get install --yes git" in done.stdout


def test_a_missing_program_is_also_named_when_workers_ran_the_test(
    tmp_path: Path, no_programs: dict[str, str]
) -> None:
    done = run_pytest(tmp_path, WANTS, "-n", "2", environment=no_programs)
    assert "apt-get install --yes git" in done.stdout


def test_on_ci_a_missing_program_fails_the_test(tmp_path: Path, no_programs: dict[str, str]) -> None:
    done = run_pytest(tmp_path, WANTS, environment={**no_programs, "CI": "true"})
    assert "1 passed, 1 error" in done.stdout
    assert "needs git: apt-get install git" in done.stdout


def test_a_present_program_runs_the_test(tmp_path: Path) -> None:
    assert "2 passed" in run_pytest(tmp_path, WANTS, environment={"CI": "true"}).stdout


def test_a_program_that_ci_does_not_bring_is_a_collection_error(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, WANTS.replace('apt="git"', 'apt="zz-unheard-of"'))
    assert done.returncode != 0
    assert "not in .ci/apt.txt: zz-unheard-of git" in done.stdout


def test_a_package_without_a_program_is_known_by_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "template.py"
    assert not is_here(str(file))
    file.touch()
    assert is_here(str(file))
    monkeypatch.chdir(tmp_path)
    assert not is_here(file.name), "a name is that of a program"
    assert not is_here(str(tmp_path))
