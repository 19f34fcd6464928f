"""A gate runs what everybody sees: bytecode of a branch is nothing, that of what is installed is taken."""

from __future__ import annotations

import importlib.util
import marshal
import os
import py_compile
import subprocess
import sys
from importlib import resources
from pathlib import Path
from types import ModuleType

import pytest

from autopilot.runner.gates.run import run_gates
from tests.support.gate_runs import WITH_PYTEST, bench

MANIFEST = '[project]\nname = "bill"\nversion = "1"\n'
CASE = """\
import unittest
import bill

class A(unittest.TestCase):
    def test_a(self):
        self.assertEqual(bill.x, 1)
"""
PROJECTS = {
    "unittest": {"pyproject.toml": MANIFEST, "tests/test_a.py": CASE},
    "pytest": {
        "pyproject.toml": f"{MANIFEST}[tool.pytest.ini_options]\n",
        "tests/test_a.py": "import bill\n\ndef test_a():\n    assert bill.x == 1\n",
    },
}
KEPT = Path(importlib.util.cache_from_source("bill.py"))
TELL = (
    "import sys, wave\nsys.path.insert(0, '')\nimport bill\nprint(type(wave.__loader__).__name__, bill.x)\n"
)


def start_py() -> str:
    return resources.files("autopilot.runner.stacks.reporters").joinpath("start.py").read_text("utf-8")


def unchecked(source: str) -> bytes:
    """Bytecode that says of itself that nobody need look at the source (PEP 552)."""
    head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)
    return head + marshal.dumps(compile(source, "bill.py", "exec"))


@pytest.mark.parametrize("runner", PROJECTS)
@pytest.mark.parametrize("color", ["red", "green"])
def test_bytecode_that_a_branch_commits_beside_its_source_is_not_run(
    tmp_path: Path, runner: str, color: str
) -> None:
    seen, hidden = ("x = 1\n", "x = 2\n") if color == "green" else ("x = 2\n", "x = 1\n")
    files: dict[str, str | bytes] = {**PROJECTS[runner], "bill.py": seen, str(KEPT): unchecked(hidden)}
    there = bench(tmp_path, files)
    trusting = subprocess.run(
        [sys.executable, "-c", "import bill; print(bill.x)"],
        cwd=there.checkout,
        env={"PATH": os.defpath},
        capture_output=True,
        text=True,
        check=True,
    )
    assert trusting.stdout == hidden.removeprefix("x = "), "the trap is one"
    [record] = [each for each in run_gates(there.context(path=WITH_PYTEST)) if each.gate == "test-summary"]
    assert record.verdict == {"red": "failed", "green": "passed"}[color], record.reason
    (log,) = (there.folder / "run").rglob("test-summary/output.log")
    assert "Warning" not in log.read_text(encoding="utf-8"), "nothing of ours is on its way out"


def test_what_is_installed_is_loaded_from_its_own_bytecode_and_the_branch_from_its_source(
    tmp_path: Path,
) -> None:
    (tmp_path / "start.py").write_text(start_py())
    (tmp_path / "tell.py").write_text(TELL)
    checkout = tmp_path / "checkout"
    (checkout / KEPT).parent.mkdir(parents=True)
    (checkout / KEPT).write_bytes(unchecked("x = 2"))
    (checkout / "bill.py").write_text("x = 1")
    done = subprocess.run(
        [sys.executable, tmp_path / "start.py", tmp_path / "tell.py"],
        cwd=checkout,
        env={"PATH": os.defpath, "PYTHONPYCACHEPREFIX": str(tmp_path / "none"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["Installed", "1"]


@pytest.fixture
def start() -> ModuleType:
    module = ModuleType("start")
    exec(compile(start_py(), "start.py", "exec"), vars(module))  # noqa: S102 - ours, and loaded by nobody else
    return module


def test_bytecode_is_taken_only_when_it_is_of_this_very_source(start: ModuleType, tmp_path: Path) -> None:
    source = tmp_path / "bill.py"
    source.write_text("x = 1\n")
    kept = Path(importlib.util.cache_from_source(str(source)))
    assert start.kept_code(str(source)) is None, "there is none"
    py_compile.compile(str(source))
    assert start.kept_code(str(source)).co_consts[0] == 1
    os.utime(source, (1, 1))
    assert start.kept_code(str(source)) is None, "it is of another time"
    py_compile.compile(str(source))
    source.write_text("x = 10\n")
    os.utime(source, (1, 1))
    assert start.kept_code(str(source)) is None, "it is of another size"
    kept.write_bytes(unchecked("x = 2\n"))
    assert start.kept_code(str(source)) is None, "it says of itself that it is right"
    py_compile.compile(str(source))
    kept.write_bytes(kept.read_bytes()[:20])
    assert start.kept_code(str(source)) is None, "it is cut off"
    py_compile.compile(str(source))
    moved = tmp_path / "moved"
    moved.mkdir()
    kept.parent.rename(moved / kept.parent.name)
    source.rename(moved / source.name)
    assert start.kept_code(str(moved / source.name)) is None, "it names another place in what it tells"


def test_what_lies_below_the_working_directory_or_home_is_of_the_branch(
    start: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages, elsewhere = tmp_path / "made" / "lib", tmp_path / "elsewhere"
    for folder in (packages, elsewhere):
        folder.mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(packages.parent))
    for home, cwd, is_installed in (
        (elsewhere, elsewhere, True),
        (elsewhere, tmp_path, False),
        (tmp_path, elsewhere, False),
    ):
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.chdir(cwd)
        assert start.is_installed(str(packages)) is is_installed, (home, cwd)
    assert not start.is_installed(str(elsewhere)), "it is no part of the interpreter"
