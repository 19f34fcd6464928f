from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.runner.gates.run import feedback, measure_baseline, run_gates
from autopilot.schemas.gate import Verdict, ungreen
from tests.support.gate_runs import WITH_PYTEST, bench, listener, run_on

MANIFEST = {"pyproject.toml": '[project]\nname = "bill"\nversion = "1"\n'}
WITH_OPTIONS = {"pyproject.toml": MANIFEST["pyproject.toml"] + "[tool.pytest.ini_options]\n"}
CASE = """\
import unittest

class Bill(unittest.TestCase):
    def test_first(self):
        self.assertEqual(1, 1)

    def test_second(self):
        {}
"""

ONE_CASE = """\
import unittest
{}

class One(unittest.TestCase):
    def test_a(self):
        self.assertEqual({}, 1)
"""


def project(second: str) -> dict[str, str]:
    return {**MANIFEST, "bill.py": "x = 1\n", "tests/test_bill.py": CASE.format(second)}


@pytest.mark.covers("K01", "J11")
def test_a_green_project_passes_every_gate_with_its_evidence(tmp_path: Path) -> None:
    heard, on_event = listener()
    there = bench(tmp_path, project("pass"))
    records = run_gates(there.context(on_event=on_event))
    assert [(record.gate, record.verdict) for record in records] == [
        ("build", Verdict.PASSED),
        ("test-summary", Verdict.PASSED),
        ("evidence", Verdict.PASSED),
    ]
    assert ungreen(records, head=there.head_sha) == ()
    counts = records[1].counts
    assert counts is not None
    assert (counts.executed, counts.passed, counts.skipped) == (2, 2, 0)
    assert [event.value for event, _ in heard] == ["gate.passed"] * 3
    assert {(record.head, record.base) for record in records} == {(there.head_sha, there.base_sha)}
    for item in records[0].evidence + records[1].evidence:
        assert (tmp_path / "run" / item.path).is_file()


def test_a_red_test_is_named_to_the_ledger_and_to_the_agent(tmp_path: Path) -> None:
    heard, on_event = listener()
    there = bench(tmp_path, project("self.assertEqual(1000, 999, 'a cent is lost')"))
    records = run_gates(there.context(on_event=on_event))
    assert ungreen(records, head=there.head_sha) == ("test-summary",)
    red = records[1]
    assert (red.verdict, red.code) == (Verdict.FAILED, "tests-red")
    assert red.counts is not None
    assert red.counts.failing_ids == ("test_bill.Bill::test_second",)
    told = feedback(records)
    assert "tests-red" in told
    assert "a cent is lost" in told
    assert "build" not in told
    assert [event.value for event, _ in heard] == ["gate.passed", "gate.failed", "gate.passed"]


def test_nothing_is_left_in_the_checkout_by_the_gates(tmp_path: Path) -> None:
    there = bench(tmp_path, project("pass"))
    before = sorted(path.relative_to(there.checkout) for path in there.checkout.rglob("*"))
    run_gates(there.context())
    assert sorted(path.relative_to(there.checkout) for path in there.checkout.rglob("*")) == before


@pytest.mark.parametrize("layout", ["flat", "package", "nested", "src", "same-names", "suffix"])
def test_unittest_finds_the_tests_of_every_usual_layout(tmp_path: Path, layout: str) -> None:
    plain = ONE_CASE.format("", "1")
    files = {
        "flat": {"test_a.py": plain},
        "package": {"tests/__init__.py": "", "tests/data.py": "X = 1\n",
                    "tests/test_a.py": ONE_CASE.format("from tests.data import X", "X")},
        "nested": {"tests/unit/test_a.py": plain},
        "src": {"src/bill/__init__.py": "X = 1\n",
                "tests/test_a.py": ONE_CASE.format("from bill import X", "X")},
        "same-names": {"a/test_a.py": plain, "b/test_a.py": plain},
        "suffix": {"tests/bill_test.py": plain},
    }[layout]  # fmt: skip
    record = run_on(tmp_path, {**MANIFEST, **files})["test-summary"]
    assert record.verdict is Verdict.PASSED, record.reason
    assert record.counts is not None
    assert record.counts.executed == (2 if layout == "same-names" else 1)


@pytest.mark.parametrize(
    ("body", "executed", "skipped", "red"),
    [
        (
            "with self.subTest(1): self.assertTrue(0)\n        with self.subTest(2): self.assertTrue(0)",
            2,
            0,
            1,
        ),
        ("self.skipTest('later')", 1, 1, 0),
        ("raise OSError('x')", 2, 0, 1),
        ("self.id = lambda: 'a \\x00 <&\\ud800 b'", 2, 0, 0),
    ],
)
def test_one_outcome_counts_for_each_test_method(
    tmp_path: Path, body: str, executed: int, skipped: int, red: int
) -> None:
    counts = run_on(tmp_path, project(body))["test-summary"].counts
    assert counts is not None
    assert (counts.executed, counts.skipped, counts.failed + counts.errored) == (executed, skipped, red)


def test_an_unexpected_success_is_red_and_an_expected_failure_was_not_executed(tmp_path: Path) -> None:
    method = "    @unittest.expectedFailure\n    def test_{}(self):\n        self.assertTrue({})\n"
    files = {
        **MANIFEST,
        "tests/test_a.py": CASE.format("pass") + method.format("xa", 0) + method.format("xb", 1),
    }
    counts = run_on(tmp_path, files)["test-summary"].counts
    assert counts is not None
    assert (counts.executed, counts.failed, counts.skipped) == (3, 1, 1)


def test_a_class_whose_setup_is_skipped_agrees_with_its_summary(tmp_path: Path) -> None:
    extra = (
        "\nclass Other(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls):\n"
        "        raise unittest.SkipTest('no')\n    def test_x(self): pass\n"
    )
    record = run_on(tmp_path, {**MANIFEST, "tests/test_a.py": CASE.format("pass") + extra})["test-summary"]
    assert record.verdict is Verdict.PASSED, record.reason


def test_pytest_runs_where_the_base_uses_it_with_the_options_of_the_base(tmp_path: Path) -> None:
    options = 'addopts = "-q --strict-markers -m \'not slow\' --lf"\nmarkers = ["slow: takes long"]\n'
    files = {
        "pyproject.toml": WITH_OPTIONS["pyproject.toml"] + options,
        "tests/test_a.py": "import pytest\ndef test_a(): pass\n@pytest.mark.slow\ndef test_b(): assert 0\n",
    }
    record = run_on(tmp_path, files, path=WITH_PYTEST)["test-summary"]
    assert record.verdict is Verdict.PASSED, record.reason
    assert record.counts is not None
    assert record.counts.executed == 1


def test_a_base_that_needs_pytest_where_there_is_none_is_an_error_and_no_pass(tmp_path: Path) -> None:
    files = {**WITH_OPTIONS, "tests/test_a.py": "def test_a(): pass\n"}
    folder = tmp_path / "bin"
    folder.mkdir()
    python = folder / "python3"
    python.write_text('#!/bin/sh\ncase "$*" in *find_spec*) exit 1;; esac\nexec /usr/bin/python3 "$@"\n')
    python.chmod(0o755)
    record = run_on(tmp_path, files, path=str(folder))["test-summary"]
    assert (record.verdict, record.code) == (Verdict.ERROR, "not-started")
    assert "pytest" in record.reason


@pytest.mark.parametrize(
    "argv", ['["python3", "-m", "pytest", "-q", "tests"]', '["pytest", "tests/test_a.py"]']
)
def test_a_pytest_command_of_the_policy_gets_our_report(tmp_path: Path, argv: str) -> None:
    files = {
        **MANIFEST,
        ".autopilot.toml": f"[commands]\ntest = {argv}\n",
        "tests/test_a.py": "def test_a(): pass\n",
        "other/test_b.py": "def test_b(): assert 0\n",
    }
    record = run_on(tmp_path, files, path=WITH_PYTEST)["test-summary"]
    assert record.verdict is Verdict.PASSED, record.reason
    assert record.counts is not None
    assert record.counts.executed == 1


def test_a_unittest_command_of_the_policy_gets_our_report(tmp_path: Path) -> None:
    command = '[commands]\ntest = ["python3", "-m", "unittest", "discover", "-s", "special"]\n'
    files = {**project("self.fail()"), ".autopilot.toml": command, "special/test_it.py": CASE.format("pass")}
    record = run_on(tmp_path, files)["test-summary"]
    assert record.verdict is Verdict.PASSED, record.reason
    assert record.counts is not None
    assert record.counts.executed == 2


def test_a_file_that_does_not_compile_fails_the_build_by_its_name(tmp_path: Path) -> None:
    base = project("pass")
    record = run_on(tmp_path, {**base, "a b\n\u00e9.py": "def (\n"}, base=base)["build"]
    assert (record.verdict, record.code) == (Verdict.FAILED, "build-red")
    assert "SyntaxError" in record.reason


def test_a_file_that_the_base_could_not_compile_either_is_not_held_against_the_branch(tmp_path: Path) -> None:
    broken = {"templates/a.py": "{{ broken }} (\n"}
    base = {**project("pass"), **broken}
    assert run_on(tmp_path / "same", base)["build"].verdict is Verdict.PASSED
    worse = {**base, "templates/a.py": "{{ broken }} ((\n"}
    assert run_on(tmp_path / "touched", worse, base=base)["build"].verdict is Verdict.FAILED


@pytest.mark.parametrize("name", ["compileall.py", "json.py", "unittest.py", "xml/__init__.py", "pathlib.py"])
def test_a_module_of_the_repository_cannot_stand_in_for_the_one_our_check_uses(
    tmp_path: Path, name: str
) -> None:
    base = project("pass")
    hostile = "import os\nos._exit(0)\n"
    records = run_on(tmp_path, {**base, name: hostile, "broken.py": "def (\n"}, base=base)
    assert records["build"].code == "build-red"
    counts = records["test-summary"].counts
    assert counts is not None
    assert counts.executed == 2


def test_a_project_without_a_python_file_has_nothing_to_build_and_says_so(tmp_path: Path) -> None:
    record = run_on(tmp_path, {**MANIFEST, "README.md": "x"})["build"]
    assert record.verdict is Verdict.NOT_APPLICABLE
    assert record.is_green
    assert record.reason == "no Python file is tracked"


@pytest.mark.parametrize(("argv", "verdict"), [('["true"]', Verdict.PASSED), ('["false"]', Verdict.FAILED)])
def test_a_build_command_of_the_policy_is_run(tmp_path: Path, argv: str, verdict: Verdict) -> None:
    policy = f"[commands]\nbuild = {argv}\n"
    record = run_on(tmp_path, {**project("pass"), ".autopilot.toml": policy})["build"]
    assert record.verdict is verdict


def test_the_baseline_tells_what_was_red_before_the_agent(tmp_path: Path) -> None:
    red = bench(tmp_path / "red", project("self.fail()"))
    baseline = measure_baseline(red.context())
    assert not baseline.green
    assert baseline.counts is not None
    assert baseline.counts.failing_ids == ("test_bill.Bill::test_second",)
    green = measure_baseline(bench(tmp_path / "green", project("pass")).context())
    assert green.green
