"""A test process that ends before its end proves nothing, however it ends and whatever its exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.schemas.gate import Verdict
from tests.support.gate_runs import WITH_PYTEST, run_on

MANIFEST = {"pyproject.toml": '[project]\nname = "bill"\nversion = "1"\n'}
WITH_OPTIONS = {"pyproject.toml": MANIFEST["pyproject.toml"] + "[tool.pytest.ini_options]\n"}
EARLY_ENDS = {
    "_exit": "import os; os._exit(0)",
    "exec": "import os; os.execv('/bin/true', ['true'])",
    "SystemExit": "import sys; sys.exit(0)",
    "kill": "import os; os.kill(os.getpid(), 9)",
    "term": "import os; os.kill(os.getpid(), 15)",
}
CASE = """\
import unittest

class Bill(unittest.TestCase):
    def test_first(self):
        self.assertEqual(1, 1)

    def test_second(self):
        {}

    def test_third(self):
        self.fail("never reached")
"""

EXIT_CODE_IS_0 = """\
import pytest

@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    session.exitstatus = 0
"""
NO_TERMINAL = """\
import pytest

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    config.pluginmanager.unregister(name="terminalreporter")
"""
CUT_REPORT = """\
import atexit

def pytest_configure(config):
    atexit.register(lambda: open(config.option.xmlpath, "w").write("<testsuites><testsuite>"))
"""
PIPE_FOR_REPORT = """\
import atexit, os

def pytest_configure(config):
    path = config.option.xmlpath
    atexit.register(lambda: (os.unlink(path), os.mkfifo(path)))
"""


def red(tmp_path: Path, files: dict[str, str], base: dict[str, str], *, path: str = WITH_PYTEST) -> str:
    """Run the gates, insist that the tests did not pass, and give the code."""
    record = run_on(tmp_path, {**base, **files}, base=base, path=path)["test-summary"]
    assert record.verdict is Verdict.FAILED, record.reason
    assert record.reason
    return record.code


@pytest.mark.covers("J18")
@pytest.mark.field_report("VER-008")
@pytest.mark.parametrize("how", sorted(EARLY_ENDS))
def test_a_unittest_run_that_ends_itself_in_a_test_is_not_passed(tmp_path: Path, how: str) -> None:
    files = {"tests/test_a.py": CASE.format(EARLY_ENDS[how])}
    code = red(tmp_path, files, {**MANIFEST, "tests/test_b.py": "import unittest\n"})
    assert code == {"SystemExit": "tests-red", "kill": "killed", "term": "killed"}.get(how, "incomplete")


@pytest.mark.field_report("VER-008")
@pytest.mark.parametrize("how", sorted(EARLY_ENDS))
def test_a_unittest_run_that_ends_itself_while_it_is_loaded_is_not_passed(tmp_path: Path, how: str) -> None:
    base = {**MANIFEST, "tests/test_b.py": CASE.format("pass").replace('self.fail("never reached")', "pass")}
    assert red(tmp_path, {"tests/test_a.py": EARLY_ENDS[how] + "\n"}, base) in {
        "incomplete",
        "killed",
        "tests-red",
    }


@pytest.mark.covers("J18")
@pytest.mark.field_report("VER-008")
@pytest.mark.parametrize("how", sorted(EARLY_ENDS))
@pytest.mark.parametrize("where", ["test", "conftest", "collected"])
def test_a_pytest_run_that_ends_itself_is_not_passed(tmp_path: Path, how: str, where: str) -> None:
    first = "def test_first(): pass\n"
    files = {
        "test": {"tests/test_a.py": f"{first}def test_second():\n    {EARLY_ENDS[how]}\n"},
        "conftest": {
            "tests/test_a.py": first,
            "conftest.py": f"def pytest_runtest_setup():\n    {EARLY_ENDS[how]}\n",
        },
        "collected": {"tests/test_a.py": first, "tests/test_z.py": EARLY_ENDS[how] + "\n"},
    }[where]
    assert red(tmp_path, files, WITH_OPTIONS) in {
        "incomplete",
        "killed",
        "tests-red",
        "no-tests",
        "contradiction",
    }


@pytest.mark.field_report("VER-008")
@pytest.mark.parametrize(
    ("test", "more", "code"),
    [
        ("def test_a(): assert 0", {"pytest.ini": "[pytest]\naddopts = --collect-only\n"}, "tests-red"),
        ("def test_a(): assert 0", {"pytest.ini": "[pytest]\npython_files = none_*.py\n"}, "no-tests"),
        ("def test_a(): assert 0", {"conftest.py": "collect_ignore = ['tests']\n"}, "no-tests"),
        ("def test_a(): assert 0", {"conftest.py": EXIT_CODE_IS_0}, "contradiction"),
        ("def test_a(): pass", {"conftest.py": NO_TERMINAL}, "incomplete"),
        ("def test_a(): pass", {"conftest.py": CUT_REPORT}, "incomplete"),
        ("def test_a(): pass", {"conftest.py": PIPE_FOR_REPORT}, "incomplete"),
        ("import pytest\n@pytest.mark.skip\ndef test_a(): assert 0", {}, "no-tests"),
        ("import pytest\n@pytest.mark.xfail\ndef test_a(): assert 0", {}, "no-tests"),
        ("def helper(): pass", {}, "no-tests"),
        ("", {}, "no-tests"),
    ],
)
def test_a_pytest_run_that_proves_nothing_is_not_passed(
    tmp_path: Path, test: str, more: dict[str, str], code: str
) -> None:
    assert red(tmp_path, {"tests/test_a.py": f"{test}\n", **more}, WITH_OPTIONS) == code


@pytest.mark.field_report("VER-008")
def test_a_run_without_an_end_is_stopped_and_not_passed(tmp_path: Path) -> None:
    files = {**MANIFEST, "tests/test_a.py": CASE.format("while True: pass")}
    record = run_on(tmp_path, files, gate_s=1.5)["test-summary"]
    assert (record.verdict, record.code) == (Verdict.FAILED, "timed-out")


@pytest.mark.field_report("VER-008")
def test_a_run_that_the_operator_stops_is_an_error_and_not_passed(tmp_path: Path) -> None:
    files = {**MANIFEST, "tests/test_a.py": CASE.format("while True: pass")}
    ready = tmp_path / "run" / "round-1" / "test-summary" / "output.log"
    record = run_on(tmp_path, files, should_stop=lambda: "shutdown" if ready.exists() else None)[
        "test-summary"
    ]
    assert (record.verdict, record.code) == (Verdict.ERROR, "stopped")


@pytest.mark.field_report("VER-008")
@pytest.mark.needs(binary="node", apt="nodejs")
@pytest.mark.parametrize(
    "how", ["process.exit(0)", "process.reallyExit(0)", "process.kill(process.pid, 'SIGKILL')"]
)
@pytest.mark.parametrize("where", ["in a test", "later", "at import"])
def test_a_node_test_file_that_ends_itself_is_not_passed(tmp_path: Path, how: str, where: str) -> None:
    head = 'const { test } = require("node:test");\ntest("first", () => {});\n'
    wait = "await new Promise((resolve) => setTimeout(resolve, 20));"
    body = {
        "in a test": f'{head}test("second", () => {{ {how}; }});\n',
        "later": f'{head}test("second", async () => {{ {wait} {how}; }});\n',
        "at import": f"{head}{how};\n",
    }[where] + 'test("third", () => { throw new Error("never reached"); });\n'
    base = {"package.json": '{"scripts": {"test": "node --test"}}', "test/b.test.js": head}
    assert red(tmp_path, {"test/a.test.js": body}, base, path=WITH_PYTEST) == "tests-red"
