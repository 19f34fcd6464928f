"""The base branch is tried before the night: once for each commit, and no longer than it may."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.daemon.checkup import base, remembered
from autopilot.daemon.checkup.scene import Scene
from autopilot.schemas.checkup import Check
from autopilot.schemas.run import Baseline
from tests.support.repos import Repo, commit_files, make_repo
from tests.support.scenes import limit, scene

SHA = "a" * 40


def looked(home: Path, repo: Repo, *, seconds: float = 60, is_fresh: bool = False) -> Scene:
    config = (
        f'[checkup]\nbaseline_s = {seconds}\n[sandbox]\nkind = "none"\n'
        f'[[repo]]\nname = "shop"\npath = "{repo.remote}"\nbase = "main"\n'
    )
    # The base's tests need the packages of this Python.
    ours = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(home)}
    return scene(home, config, clock=SystemClock(), environment=ours, is_fresh=is_fresh)


def lines(where: Scene) -> dict[str, Check]:
    return {line.name: line for line in base.base(where.settings.repos[0], where, limit())}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "r")


@pytest.mark.slow
def test_a_base_is_run_once_and_remembered_by_its_commit(tmp_path: Path, repo: Repo) -> None:
    where = looked(tmp_path / "home", repo)
    first = lines(where)
    assert first["tests of shop"].verdict == "go"
    assert first["base of shop"].verdict == "no-go", first
    assert f"red, {repo.base_sha[:12]}: 1 of" in first["base of shop"].evidence
    assert [each.name for each in remembered.place(where).iterdir() if each.is_dir()] == []
    project = repo.project
    commit_files(repo.remote, "main", {project.broken_path: project.fixed_file()})
    mended = lines(where)["base of shop"]
    assert mended.verdict == "go", mended
    assert mended.evidence.startswith("green, ")
    assert "ago)" in lines(where)["base of shop"].evidence


def test_where_it_is_not_run_it_is_the_first_run_that_measures_it(tmp_path: Path, repo: Repo) -> None:
    told = lines(looked(tmp_path / "home", repo, seconds=0))["base of shop"]
    assert (told.verdict, "its first run measures it" in told.evidence) == ("go", True)


@pytest.mark.slow
def test_tests_that_take_too_long_are_told_and_nothing_of_them_goes_on(tmp_path: Path, repo: Repo) -> None:
    commit_files(
        repo.remote, "main", {"tests/test_slow.py": "import time\ndef test_it():\n    time.sleep(600)\n"}
    )
    where = looked(tmp_path / "home", repo, seconds=1)
    found = {line.name: line for line in base.base(where.settings.repos[0], where, limit(8))}
    assert found["base of shop"].verdict == "warning"
    assert "take longer than 1 s" in found["base of shop"].evidence


@pytest.mark.parametrize(
    ("baseline", "verdict"),
    [
        (Baseline(counts=None, green=True, reason="3 executed"), "go"),
        (Baseline(counts=None, green=False, reason="1 of 3 tests are red", code="tests-red"), "no-go"),
        (Baseline(counts=None, green=False, reason="the child fell over", code="not-known"), "warning"),
        (Baseline(counts=None, green=False, reason="no pytest", code="not-started"), "no-go"),
    ],
)
def test_a_base_that_is_red_or_whose_tests_cannot_start_blocks_and_what_is_not_known_is_told(
    baseline: Baseline, verdict: str
) -> None:
    line = base.line("base of shop", SHA, baseline)
    assert line.verdict == verdict
    assert baseline.reason in line.evidence
    assert bool(line.cure) is (verdict != "go")


def test_a_base_branch_that_is_not_there_is_told_with_those_that_are(tmp_path: Path, repo: Repo) -> None:
    where = looked(tmp_path / "home", repo)
    gone = where.settings.repos[0].model_copy(update={"base": "mian"})
    with pytest.raises(Exception, match="mian") as failed:
        list(base.base(gone, where, limit()))
    assert "main" in getattr(failed.value, "hint", "")
