from __future__ import annotations

import json
from pathlib import Path

import pytest

from autopilot.schemas.gate import Verdict
from tests.support.gate_runs import SYSTEM_PATH, run_on

pytestmark = pytest.mark.needs(binary="node", apt="nodejs")

HEAD = 'const { test } = require("node:test");\nconst assert = require("node:assert");\n'
GREEN = f'{HEAD}test("first", () => {{}});\n'


def manifest(**scripts: str) -> dict[str, str]:
    return {"package.json": json.dumps({"name": "bill", "scripts": {"test": "node --test", **scripts}})}


@pytest.mark.covers("K01")
def test_leaf_tests_are_counted_and_files_todos_and_skips_are_not(tmp_path: Path) -> None:
    body = (
        'test("skipped", { skip: true }, () => {});\n'
        'test.todo("todo", () => { throw new Error("x"); });\n'
        'test("outer", async (t) => { await t.test("inner", () => {}); });\n'
    )
    files = {**manifest(), "test/a.test.js": GREEN + body, "test/data.js": "", "test/empty.test.js": ""}
    record = run_on(tmp_path, files, path=SYSTEM_PATH)["test-summary"]
    assert record.verdict is Verdict.PASSED, record.reason
    assert record.counts is not None
    assert (record.counts.executed, record.counts.skipped) == (2, 2)


def test_a_red_test_is_named(tmp_path: Path) -> None:
    files = {
        **manifest(),
        "test/a.test.js": GREEN + 'test("cent", () => assert.equal(999, 1000, "a cent is lost"));\n',
    }
    record = run_on(tmp_path, files)["test-summary"]
    assert (record.verdict, record.code) == (Verdict.FAILED, "tests-red")
    assert record.counts is not None
    assert record.counts.failing_ids == ("test::cent",)
    assert "a cent is lost" in record.reason


@pytest.mark.field_report("VER-008")
@pytest.mark.parametrize(
    "files",
    [
        {"test/a.test.js": ""},
        {"test/a.test.js": "require('node:fs');\n"},
        {"test/a.test.js": HEAD + 'test.todo("x", () => { throw new Error("x"); });\n'},
        {"test/a.test.js": HEAD + 'test("x", { skip: true }, () => {});\n'},
        {"lib/a.js": ""},
    ],
)
def test_a_run_in_which_no_leaf_test_was_executed_is_not_passed(
    tmp_path: Path, files: dict[str, str]
) -> None:
    record = run_on(tmp_path, {**manifest(), **files})["test-summary"]
    assert record.verdict is Verdict.FAILED
    assert record.code in {"no-tests", "incomplete"}


def test_a_program_that_a_test_starts_may_end_itself(tmp_path: Path) -> None:
    body = (
        'const { spawnSync } = require("node:child_process");\n'
        'test("cli", () => assert.equal(spawnSync(process.execPath, ["-e", "process.exit(0)"]).status, 0));\n'
    )
    record = run_on(tmp_path, {**manifest(), "test/a.test.js": HEAD + body})["test-summary"]
    assert record.verdict is Verdict.PASSED, record.reason


def test_the_script_of_the_base_is_run_with_its_variables_and_file_patterns(tmp_path: Path) -> None:
    base = manifest(test="KIND=unit node --test spec/*.spec.js")
    body = f'{HEAD}test("kind", () => assert.equal(process.env.KIND, "unit"));\n'
    files = {**base, "spec/a b.spec.js": body, "spec/c.spec.js": body, "test/never.test.js": "throw 1;\n"}
    record = run_on(tmp_path, files)["test-summary"]
    assert record.verdict is Verdict.PASSED, record.reason
    assert record.counts is not None
    assert record.counts.executed == 2


def test_a_branch_cannot_replace_the_test_script(tmp_path: Path) -> None:
    base = {**manifest(), "test/a.test.js": GREEN}
    branch = {
        **base,
        **manifest(test="true"),
        "test/b.test.js": HEAD + 'test("red", () => { throw new Error(); });\n',
    }
    record = run_on(tmp_path, branch, base=base)["test-summary"]
    assert record.code == "tests-red"


@pytest.mark.needs(binary="npm", apt="npm")
@pytest.mark.parametrize(
    ("script", "verdict"), [("node -e 0", Verdict.PASSED), ("node -e 'throw 1'", Verdict.FAILED)]
)
def test_a_build_script_is_run_and_its_failure_is_the_verdict(
    tmp_path: Path, script: str, verdict: Verdict
) -> None:
    files = {**manifest(build=script), "test/a.test.js": GREEN}
    record = run_on(tmp_path, files)["build"]
    assert record.verdict is verdict
    assert record.command_sha256 is not None


def test_a_project_without_a_build_script_has_nothing_to_build_and_says_so(tmp_path: Path) -> None:
    record = run_on(tmp_path, {**manifest(), "test/a.test.js": GREEN})["build"]
    assert record.verdict is Verdict.NOT_APPLICABLE
    assert "no build script" in record.reason


def test_without_node_the_gate_is_an_error_and_no_pass(tmp_path: Path) -> None:
    files = {**manifest(), ".autopilot.toml": '[commands]\ntest = ["/nowhere/node", "--test"]\n'}
    record = run_on(tmp_path, {**files, "test/a.test.js": GREEN})["test-summary"]
    assert (record.verdict, record.code) == (Verdict.ERROR, "not-started")
