from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.config.proc import Exit
from autopilot.runner.gates.judge import judge_build, judge_tests
from autopilot.runner.stacks.junit import Report
from autopilot.runner.stacks.summary import Summary
from autopilot.schemas.gate import Verdict

OUT = Path("out")
ENDED = Exit(code=0, output=OUT)
GREEN = Report(passed=3)
AGREES = Summary(red=0, executed=3)


def verdict(
    exit_: Exit = ENDED,
    report: Report | str = GREEN,
    summary: Summary | None = AGREES,
    *,
    prints: bool = True,
) -> tuple[Verdict, str]:
    finding = judge_tests(exit_, report, summary, prints_summary=prints)
    assert finding.reason
    return finding.verdict, finding.code


@pytest.mark.covers("J11", "J18")
def test_only_a_whole_agreeing_run_passes() -> None:
    assert verdict() == (Verdict.PASSED, "")
    assert verdict(summary=None, prints=False) == (Verdict.PASSED, "")
    assert verdict(report=Report(passed=3, skipped=2)) == (Verdict.PASSED, "")
    assert verdict(report=Report(passed=2, dropped=1)) == (Verdict.PASSED, "")
    assert verdict(summary=Summary(red=0, executed=5, is_exact=False)) == (Verdict.PASSED, "")


@pytest.mark.covers("J18")
@pytest.mark.field_report("VER-008")
@pytest.mark.parametrize(
    ("exit_", "report", "summary", "code"),
    [
        (ENDED, "it was not written", AGREES, "incomplete"),
        (ENDED, "it was not written", None, "incomplete"),
        (ENDED, GREEN, None, "incomplete"),
        (ENDED, Report(), Summary(red=0, executed=0), "no-tests"),
        (ENDED, Report(skipped=4), Summary(red=0, executed=0), "no-tests"),
        (ENDED, Report(dropped=4), Summary(red=0, executed=4), "no-tests"),
        (ENDED, GREEN, Summary(red=1, executed=3), "contradiction"),
        (ENDED, GREEN, Summary(red=0, executed=2), "contradiction"),
        (ENDED, GREEN, Summary(red=0, executed=4), "contradiction"),
        (ENDED, GREEN, Summary(red=0, executed=2, is_exact=False), "contradiction"),
        (ENDED, GREEN, Summary(red=1, executed=5, is_exact=False), "contradiction"),
        (ENDED, Report(passed=2, failed=1), Summary(red=1, executed=3), "contradiction"),
        (Exit(code=1, output=OUT), Report(passed=2, failed=1), Summary(red=1, executed=3), "tests-red"),
        (Exit(code=1, output=OUT), Report(passed=2, errored=1), Summary(red=1, executed=3), "tests-red"),
        (Exit(code=1, output=OUT), GREEN, AGREES, "contradiction"),
        (Exit(code=5, output=OUT), Report(), Summary(red=0, executed=0), "no-tests"),
        (Exit(code=3, output=OUT), "it is not whole XML", None, "incomplete"),
        (Exit(signal=9, output=OUT), GREEN, AGREES, "killed"),
        (Exit(signal=9, output=OUT), "it was not written", None, "killed"),
        (Exit(code=0, stopped="wall", output=OUT), GREEN, AGREES, "timed-out"),
        (Exit(signal=15, stopped="wall", output=OUT), "it was not written", None, "timed-out"),
        (Exit(code=0, stopped="output-ceiling", output=OUT), GREEN, AGREES, "output-ceiling"),
    ],
)
def test_anything_less_fails_and_says_which(
    exit_: Exit, report: Report | str, summary: Summary | None, code: str
) -> None:
    assert verdict(exit_, report, summary) == (Verdict.FAILED, code)


@pytest.mark.parametrize(
    ("exit_", "code"),
    [
        (Exit(spawn_error="no such file", output=OUT), "not-started"),
        (Exit(code=0, stopped="shutdown", output=OUT), "stopped"),
    ],
)
def test_a_run_that_could_not_be_made_is_an_error_and_never_a_pass(exit_: Exit, code: str) -> None:
    assert verdict(exit_) == (Verdict.ERROR, code)


def test_a_reason_names_the_red_tests_and_how_many_more_there_are() -> None:
    report = Report(failed=30, failing_ids=tuple(f"t::{number}" for number in range(30)))
    reason = judge_tests(Exit(code=1, output=OUT), report, None, prints_summary=True).reason
    assert reason.startswith("30 of 30 tests are red: t::0, t::1")
    assert reason.endswith("and 20 more")


@pytest.mark.parametrize(
    ("exit_", "faults", "expected"),
    [
        (ENDED, (), (Verdict.PASSED, "")),
        (ENDED, ("a.py: SyntaxError",), (Verdict.FAILED, "build-red")),
        (ENDED, "it was not written", (Verdict.FAILED, "incomplete")),
        (Exit(code=2, output=OUT), (), (Verdict.FAILED, "build-red")),
        (Exit(signal=9, output=OUT), (), (Verdict.FAILED, "killed")),
        (Exit(code=0, stopped="wall", output=OUT), (), (Verdict.FAILED, "timed-out")),
        (Exit(spawn_error="no such file", output=OUT), (), (Verdict.ERROR, "not-started")),
    ],
)
def test_a_build_passes_only_when_it_ended_well_and_its_report_names_no_fault(
    exit_: Exit, faults: tuple[str, ...] | str, expected: tuple[Verdict, str]
) -> None:
    finding = judge_build(exit_, faults)
    assert (finding.verdict, finding.code) == expected
