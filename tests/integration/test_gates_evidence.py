from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autopilot.runner.gates import build, evidence, test_summary
from autopilot.runner.gates.context import GateContext
from autopilot.schemas.gate import Evidence, GateRecord, TestCounts, Verdict
from tests.support.gate_runs import bench

CASE = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"
FILES = {"pyproject.toml": "", "tests/test_a.py": CASE}

Spoil = Callable[[GateContext, list[GateRecord]], None]


@pytest.fixture
def context(tmp_path: Path) -> GateContext:
    context = bench(tmp_path, FILES).context()
    context.reports.mkdir(parents=True)
    return context


def judged(context: GateContext, spoil: Spoil) -> GateRecord:
    records = [build.check(context, ())]
    records.append(test_summary.check(context, tuple(records)))
    spoil(context, records)
    return evidence.check(context, tuple(records))


def nothing(context: GateContext, records: list[GateRecord]) -> None:
    """Leave everything as it is."""


def report_of(context: GateContext, records: list[GateRecord]) -> Path:
    return context.root / next(item.path for item in records[1].evidence if item.path.endswith(".xml"))


def change_a_report(context: GateContext, records: list[GateRecord]) -> None:
    path = report_of(context, records)
    path.write_bytes(path.read_bytes() + b"\n")


def remove_a_log(context: GateContext, records: list[GateRecord]) -> None:
    (context.root / records[0].evidence[-1].path).unlink()


def put_a_link_in_place(context: GateContext, records: list[GateRecord]) -> None:
    path = report_of(context, records)
    path.rename(path.with_suffix(".old"))
    path.symlink_to(path.with_suffix(".old"))


def drop_the_tests(context: GateContext, records: list[GateRecord]) -> None:
    del records[1]


def judge_another_commit(context: GateContext, records: list[GateRecord]) -> None:
    records[0] = records[0].model_copy(update={"head": "f" * 40})


def claim_more_tests(context: GateContext, records: list[GateRecord]) -> None:
    more = TestCounts(executed=9, passed=9, failed=0, errored=0, skipped=0)
    records[1] = records[1].model_copy(update={"counts": more})


def claim_without_counts(context: GateContext, records: list[GateRecord]) -> None:
    records[1] = records[1].model_copy(update={"counts": None})


def claim_without_a_command(context: GateContext, records: list[GateRecord]) -> None:
    records[0] = records[0].model_copy(update={"command_sha256": None})


def claim_without_a_file(context: GateContext, records: list[GateRecord]) -> None:
    records[1] = records[1].model_copy(update={"evidence": ()})


def call_red_tests_green(context: GateContext, records: list[GateRecord]) -> None:
    path = context.reports / "red.xml"
    path.write_text("<testsuite><testcase name='a'><failure/></testcase></testsuite>", encoding="utf-8")
    from autopilot.runner.gates.files import evidence as fingerprint

    items: tuple[Evidence, ...] = fingerprint(context.root, [path])
    records[1] = records[1].model_copy(update={"evidence": items})


def give_no_reason(context: GateContext, records: list[GateRecord]) -> None:
    records[0] = records[0].model_copy(update={"verdict": Verdict.NOT_APPLICABLE, "reason": " "})


@pytest.mark.covers("J10", "J18")
def test_verdicts_whose_files_are_what_was_judged_are_backed(context: GateContext) -> None:
    record = judged(context, nothing)
    assert record.verdict is Verdict.PASSED
    assert len(record.evidence) == 4


@pytest.mark.covers("J10", "J18")
@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (change_a_report, "digest-mismatch"),
        (remove_a_log, "evidence-gone"),
        (put_a_link_in_place, "evidence-gone"),
        (drop_the_tests, "missing-verdict"),
        (judge_another_commit, "other-commit"),
        (claim_more_tests, "claim-unproven"),
        (claim_without_counts, "claim-unproven"),
        (claim_without_a_command, "no-evidence"),
        (claim_without_a_file, "no-evidence"),
        (call_red_tests_green, "claim-unproven"),
        (give_no_reason, "no-reason"),
    ],
)
def test_a_verdict_that_its_files_do_not_back_fails_the_gate(
    context: GateContext, spoil: Spoil, code: str
) -> None:
    record = judged(context, spoil)
    assert (record.verdict, record.code) == (Verdict.FAILED, code)
    assert record.reason
    assert record.evidence == ()


def test_every_fault_is_named_and_not_only_the_first(context: GateContext) -> None:
    def spoil(context: GateContext, records: list[GateRecord]) -> None:
        remove_a_log(context, records)
        change_a_report(context, records)

    reason = judged(context, spoil).reason
    assert "was not written" in reason
    assert "is not what was judged" in reason
