"""Commands of the policy: they count only with a report that this very run wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autopilot.config.removal import remove_tree
from autopilot.runner.gates import collect
from autopilot.runner.gates.run import run_gates
from autopilot.schemas.gate import Verdict
from tests.support.gate_runs import bench, run_on

GREEN = "<testsuite><testcase name='a'/><testcase name='b'/></testsuite>"
RED = "<testsuite><testcase name='c'><failure/></testcase></testsuite>"


def policy(script: str, *, report: str | None = None) -> dict[str, str]:
    lines = [f"report = {json.dumps(report)}"] if report else []
    return {
        ".autopilot.toml": "\n".join([*lines, "[commands]", f"test = {json.dumps(['sh', '-c', script])}"])
        + "\n"
    }


def outcome(
    tmp_path: Path, files: dict[str, str], *, base: dict[str, str] | None = None
) -> tuple[Verdict, str]:
    record = run_on(tmp_path, files, base=base)["test-summary"]
    return record.verdict, record.code


@pytest.mark.covers("K01")
def test_a_report_at_our_own_path_is_read(tmp_path: Path) -> None:
    files = {
        ".autopilot.toml": '[commands]\ntest = ["sh", "-c", "cp green.xml $0", "{report}"]\n',
        "green.xml": GREEN,
    }
    assert outcome(tmp_path, files) == (Verdict.PASSED, "")


def test_reports_that_match_the_pattern_add_up(tmp_path: Path) -> None:
    write = "mkdir -p out/deep && cp green.xml out/a.xml && cp red.xml out/deep/b.xml; exit {}"
    files = {"green.xml": GREEN, "red.xml": RED}
    red = {**files, **policy(write.format(1), report="out/**/*.xml")}
    record = run_on(tmp_path / "red", red)["test-summary"]
    assert record.code == "tests-red"
    assert record.counts is not None
    assert (record.counts.executed, record.counts.failed) == (3, 1)
    green = {**files, **policy(write.format(0), report="out/*.xml")}
    assert outcome(tmp_path / "green", green) == (Verdict.PASSED, "")


@pytest.mark.field_report("VER-008")
@pytest.mark.parametrize(
    "script", ["true", "exit 0", "mkdir -p out", "touch out/a.xml", "cat out/a.xml", "kill -9 $$"]
)
def test_a_report_that_was_there_before_counts_for_nothing(tmp_path: Path, script: str) -> None:
    files = {**policy(script, report="out/*.xml"), "out/a.xml": GREEN}
    verdict, code = outcome(tmp_path, files)
    if script.startswith("touch"):  # written by this run, if only its times: the content is what counts
        assert verdict is Verdict.PASSED
    else:
        assert (verdict, code) in {(Verdict.FAILED, "incomplete"), (Verdict.FAILED, "killed")}


@pytest.mark.parametrize(
    "script",
    [
        "mkdir out && ln -s ../green.xml out/a.xml",
        "mkdir real && cp green.xml real/a.xml && ln -s real out && true",
        "mkdir out && mkfifo out/a.xml",
        "mkdir -p out/a.xml",
        "mkdir out && printf '<testsuite>' > out/a.xml",
        "mkdir out && : > out/a.xml",
        "mkdir out && cp green.xml out/a.xml && printf x > out/b.xml",
    ],
)
def test_a_report_that_is_no_plain_whole_file_counts_for_nothing(tmp_path: Path, script: str) -> None:
    files = {**policy(script, report="out/*.xml"), "green.xml": GREEN}
    verdict, code = outcome(tmp_path, files)
    if "real" in script:  # a folder inside the checkout, by another name
        assert verdict is Verdict.PASSED
    else:
        assert (verdict, code) == (Verdict.FAILED, "incomplete")


DEEP = "import os\nfor _ in range(1200):\n    os.mkdir('d'); os.chdir('d')"


@pytest.mark.field_report("VER-008")
@pytest.mark.parametrize(
    ("script", "pattern"),
    [
        ("mkdir out && ln -s $(printf %0300d 0) out/a.xml", "out/*.xml"),
        ("mkdir out && ln -s $(printf %0300d 0) out/a.xml", "out/a.xml"),
        ("ln -s $(printf %0300d 0) out", "out/*.xml"),
        ("ln -s $(printf %0300d 0) other && mkdir out && cp green.xml out/a.xml", "*/a.xml"),
        ("mkdir out && ln -s a.xml out/a.xml", "out/*.xml"),
        (f'python3 -c "{DEEP}" && mkdir out && cp green.xml out/a.xml', "**/*.xml"),
    ],
)
def test_a_tree_in_which_reports_cannot_be_looked_for_is_no_fault_of_ours(
    tmp_path: Path, script: str, pattern: str
) -> None:
    files = {**policy(script, report=pattern), "green.xml": GREEN}
    assert outcome(tmp_path, files) == (Verdict.FAILED, "incomplete")
    remove_tree(tmp_path / "checkout")


def test_what_was_there_before_is_no_report_of_this_run_where_nobody_could_look(tmp_path: Path) -> None:
    """The tests take away what was in the way of the look, and show what was committed."""
    here = bench(tmp_path, {**policy("rm -f out/b.xml", report="*/a.xml"), "out/a.xml": GREEN})
    (here.checkout / "odd").symlink_to("0" * 300)
    (record,) = [each for each in run_gates(here.context()) if each.gate == "test-summary"]
    assert (record.verdict, record.code) == (Verdict.FAILED, "incomplete")


def test_one_file_of_many_names_is_not_copied_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "MAX_BYTES", 5 * len(GREEN))
    script = "mkdir out && cp green.xml out/0.xml && for n in {}; do ln out/0.xml out/$n.xml; done"
    for names, verdict in (("1 2 3 4", Verdict.PASSED), ("1 2 3 4 5", Verdict.FAILED)):
        files = {**policy(script.format(names), report="out/*.xml"), "green.xml": GREEN}
        assert outcome(tmp_path / verdict, files)[0] is verdict


def test_a_report_behind_a_link_out_of_the_checkout_counts_for_nothing(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    script = f"ln -s {outside} out && cp green.xml out/a.xml"
    assert outcome(tmp_path / "here", {**policy(script, report="out/*.xml"), "green.xml": GREEN}) == (
        Verdict.FAILED,
        "incomplete",
    )


def test_without_a_build_command_there_is_nothing_to_build_and_the_reason_says_so(tmp_path: Path) -> None:
    files = {**policy("mkdir out; cp green.xml out/a.xml", report="out/*.xml"), "green.xml": GREEN}
    record = run_on(tmp_path, files)["build"]
    assert record.verdict is Verdict.NOT_APPLICABLE
    assert "unknown" in record.reason


def test_a_branch_cannot_change_the_commands_that_judge_it(tmp_path: Path) -> None:
    script = "mkdir out; cp report.xml out/a.xml; grep -q failure report.xml && exit 1; exit 0"
    base = {**policy(script, report="out/*.xml"), "report.xml": GREEN}
    branch = {
        **policy("mkdir out; cp green.xml out/a.xml", report="out/*.xml"),
        "green.xml": GREEN,
        "report.xml": RED,
    }
    assert outcome(tmp_path, branch, base=base) == (Verdict.FAILED, "tests-red")


def test_a_program_that_prints_without_end_is_stopped_and_what_is_kept_is_bounded(tmp_path: Path) -> None:
    files = policy("yes | head -c 80000000", report="out/*.xml")
    assert outcome(tmp_path, files) == (Verdict.FAILED, "output-ceiling")
    log = tmp_path / "run" / "round-1" / "test-summary" / "output.log"
    assert log.stat().st_size <= 65 * 1024 * 1024
