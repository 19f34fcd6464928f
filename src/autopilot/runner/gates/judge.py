"""Decides what a test run proved. Default: nothing.

Pure: it is given how the program ended, what its report says and what it printed.
Source: docs/decisions/0033.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.runner.sandbox.bounds import RESOURCE_LIMIT
from autopilot.schemas.gate import Verdict

if TYPE_CHECKING:
    from autopilot.config.proc import Exit
    from autopilot.runner.stacks.junit import Report
    from autopilot.runner.stacks.summary import Summary

_NAMED_IDS = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict, its machine-readable code, and one sentence."""

    verdict: Verdict
    code: str
    reason: str


def early_end(exit_: Exit) -> Finding | None:
    """Say why the program did not end by itself, or None when it did."""
    if exit_.spawn_error:
        return Finding(Verdict.ERROR, "not-started", f"the command could not start: {exit_.spawn_error}")
    if exit_.stopped == "wall":
        reason = f"it was stopped after {exit_.duration_s:.0f} s without coming to an end"
        return Finding(Verdict.FAILED, "timed-out", reason)
    if exit_.stopped == "output-ceiling":
        return Finding(Verdict.FAILED, "output-ceiling", "it printed more than may be kept and was stopped")
    if exit_.stopped == RESOURCE_LIMIT:
        return Finding(Verdict.FAILED, RESOURCE_LIMIT, f"it used {exit_.limit} and was ended")
    if exit_.stopped:
        return Finding(Verdict.ERROR, "stopped", f"the run was stopped: {exit_.stopped}")
    if exit_.signal is not None:
        return Finding(Verdict.FAILED, "killed", f"it was ended by signal {exit_.signal}")
    return None


def judge_tests(
    exit_: Exit, report: Report | str, summary: Summary | None, *, prints_summary: bool
) -> Finding:
    """Judge a test run.

    Args:
        exit_: how the program ended.
        report: its counted report, or why there is none that can be believed.
        summary: the summary it printed last, if it printed one.
        prints_summary: whether this kind of program always prints one.

    Returns:
        `passed` only if it ended by itself with 0, its report is whole, at least one test was executed, none
        was red, and the printed summary says the same. Anything else has its own code.
    """
    if (early := early_end(exit_)) is not None:
        return early
    ended = f"the command ended with exit code {exit_.code}"
    if isinstance(report, str):
        return Finding(Verdict.FAILED, "incomplete", f"{ended}, but its report counts for nothing: {report}")
    if report.red:
        return _red(report, exit_)
    if not report.executed:
        skipped = f" ({report.skipped} skipped)" if report.skipped else ""
        return Finding(Verdict.FAILED, "no-tests", f"no test was executed{skipped}; {ended}")
    if exit_.code != 0:
        return Finding(Verdict.FAILED, "contradiction", f"{ended}, though no test in its report is red")
    if prints_summary and summary is None:
        return Finding(Verdict.FAILED, "incomplete", f"{ended}, but it never printed its summary")
    if summary is not None and not summary.agrees_with(report.executed + report.dropped):
        said = f"it printed {summary.executed} executed and {summary.red} red"
        shown = f"its report shows {report.executed} executed and none red"
        return Finding(Verdict.FAILED, "contradiction", f"{said}, but {shown}")
    return Finding(Verdict.PASSED, "", f"{report.executed} executed, {report.skipped} skipped")


def _red(report: Report, exit_: Exit) -> Finding:
    named = ", ".join(report.failing_ids[:_NAMED_IDS])
    more = f" and {report.red - _NAMED_IDS} more" if report.red > _NAMED_IDS else ""
    reason = f"{report.red} of {report.executed} tests are red: {named}{more}"
    if exit_.code == 0:
        return Finding(Verdict.FAILED, "contradiction", f"{reason}; yet the command ended with exit code 0")
    return Finding(Verdict.FAILED, "tests-red", reason)


def judge_build(exit_: Exit, faults: tuple[str, ...] | str) -> Finding:
    """Judge a build: it ended by itself with 0 and its report, where it has one, names no fault.

    Args:
        exit_: how the command ended.
        faults: what its report names, or why the report cannot be read.
    """
    if (early := early_end(exit_)) is not None:
        return early
    if isinstance(faults, str):
        return Finding(Verdict.FAILED, "incomplete", f"its report counts for nothing: {faults}")
    if faults:
        return Finding(Verdict.FAILED, "build-red", "; ".join(faults[:_NAMED_IDS]))
    if exit_.code != 0:
        return Finding(Verdict.FAILED, "build-red", f"the build ended with exit code {exit_.code}")
    return Finding(Verdict.PASSED, "", "the build ended with exit code 0")
