from __future__ import annotations

import ast
import sys
from importlib import resources

import pytest

FOLDER = resources.files("autopilot.runner.stacks.reporters")
SCRIPTS = sorted(
    entry.name for entry in FOLDER.iterdir() if entry.name.endswith(".py") and entry.name[0] != "_"
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_reporter_runs_on_old_interpreters_and_imports_nothing_of_ours(name: str) -> None:
    tree = ast.parse(FOLDER.joinpath(name).read_text(encoding="utf-8"), feature_version=(3, 8))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    tops = {module.partition(".")[0] for module in names}
    assert tops <= sys.stdlib_module_names | {"pytest"}


def test_every_reporter_that_is_shipped_is_known_here() -> None:
    assert SCRIPTS == ["compile_check.py", "run_pytest.py", "start.py", "unittest_junit.py"]
    assert FOLDER.joinpath("node_guard.cjs").is_file()
