from __future__ import annotations

import pytest

from autopilot.runner.stacks import python_facts
from tests.support.memory_tree import memory_tree

UNITTEST = "import unittest\n\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"


@pytest.mark.parametrize(
    "name", ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "requirements-dev.txt"]
)
def test_a_manifest_at_the_root_says_python(name: str) -> None:
    assert python_facts.has_manifest(memory_tree({name: ""}))
    assert not python_facts.has_manifest(memory_tree({f"docs/{name}": ""}))


def test_test_files_are_known_by_their_names() -> None:
    tests = ["tests/test_a.py", "a/b_test.py", "test_c.py", "tests.py"]
    others = ["a/contest.py", "testing/data.py", "tests/conftest.py", "test_a.txt", "latest.py"]
    tree = memory_tree(dict.fromkeys(tests + others, ""))
    assert sorted(python_facts.test_files(tree)) == sorted(tests)


@pytest.mark.parametrize(
    "files",
    [
        {"pytest.ini": ""},
        {"tests/conftest.py": ""},
        {"pyproject.toml": "[tool.pytest.ini_options]\n"},
        {"pyproject.toml": "[tool.pytest]\n"},
        {"setup.cfg": "[tool:pytest]\n"},
        {"tox.ini": "[pytest]\n"},
        {"tests/test_a.py": "import pytest\n"},
        {"tests/test_a.py": "def test_a():\n    pass\n"},
        {"tests/test_a.py": "async def test_a():\n    pass\n"},
        {"requirements-dev.txt": "pytest==8.3\n", "tests/test_a.py": UNITTEST},
        {"pyproject.toml": '[dependency-groups]\ndev = ["pytest"]\n', "tests/test_a.py": UNITTEST},
    ],
)
def test_a_base_that_uses_pytest_is_known(files: dict[str, str]) -> None:
    assert python_facts.test_runner(memory_tree(files)) == "pytest"


def test_a_base_with_plain_unittest_needs_nothing_else_and_one_without_tests_takes_either() -> None:
    assert python_facts.test_runner(memory_tree({"setup.py": "", "tests/test_a.py": UNITTEST})) == "unittest"
    assert python_facts.test_runner(memory_tree({"setup.py": "", "a.py": ""})) == "either"


@pytest.mark.parametrize(
    "files",
    [
        {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-x --strict-markers"\n'},
        {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = ["-x", "--strict-markers"]\n'},
        {"pytest.ini": "[pytest]\naddopts = -x --strict-markers\n"},
        {"setup.cfg": "[tool:pytest]\naddopts =\n  -x\n  --strict-markers\n"},
        {"pytest.ini": "[pytest]\naddopts = -x --strict-markers\n", "tox.ini": "[pytest]\naddopts = -v\n"},
    ],
)
def test_the_base_keeps_its_own_options_whichever_file_states_them(files: dict[str, str]) -> None:
    assert python_facts.kept_addopts(memory_tree(files)) == ("-x", "--strict-markers")


@pytest.mark.parametrize(
    "options",
    [
        "-q",
        "-qq",
        "--quiet",
        "--collect-only",
        "--co",
        "--no-summary",
        "--lf",
        "--ff",
        "--sw",
        "--junitxml=x.xml",
        "--junitxml x.xml",
        "--color yes",
        "-p no:terminal",
        "-pno:terminal",
        "-p no:junitxml",
    ],
)
def test_an_option_that_hides_the_report_or_the_summary_is_dropped(options: str) -> None:
    tree = memory_tree({"pytest.ini": f"[pytest]\naddopts = -v {options} -k fast -p xdist\n"})
    assert python_facts.kept_addopts(tree) == ("-v", "-k", "fast", "-p", "xdist")


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"pyproject.toml": "not toml ["},
        {"pyproject.toml": b"\xff\xfe"},
        {"pyproject.toml": "a = " + "[" * 50_000},
        {"pyproject.toml": "tool = 3\n"},
        {"pyproject.toml": "[tool]\npytest = 3\n"},
        {"pytest.ini": "addopts = -x\n"},
        {"pytest.ini": "[pytest]\naddopts = 'unclosed\n"},
        {"pytest.ini": b"\xff"},
    ],
)
def test_options_that_cannot_be_read_are_none(files: dict[str, str | bytes]) -> None:
    assert python_facts.kept_addopts(memory_tree(files)) == ()
