from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.runner.stacks.junit import (
    MAX_FAILING_IDS,
    MAX_ID_CHARS,
    Report,
    ReportError,
    merge,
    parse_junit,
)

SUITE = "<testsuites><testsuite>{}</testsuite></testsuites>"


def case(name: str, inner: str = "", classname: str = "t") -> str:
    return f'<testcase classname="{classname}" name="{name}">{inner}</testcase>'


def parse(*cases: str) -> Report:
    return parse_junit(SUITE.format("".join(cases)).encode())


def refused(content: bytes) -> str:
    with pytest.raises(ReportError) as caught:
        parse_junit(content)
    return str(caught.value)


def test_leaf_tests_are_counted_by_what_stands_in_them() -> None:
    report = parse(
        case("a"),
        case("b", "<failure/>"),
        case("c", "<error/>"),
        case("d", "<skipped/>"),
        case("e", "<system-out/>"),
    )
    assert (report.passed, report.failed, report.errored, report.skipped) == (2, 1, 1, 1)
    assert (report.executed, report.red) == (4, 2)
    assert report.failing_ids == ("t::b", "t::c")


def test_what_a_suite_says_about_itself_is_not_counted() -> None:
    text = '<testsuite tests="900" failures="0" errors="0" skipped="0">' + case("a") + "</testsuite>"
    assert parse_junit(text.encode()).executed == 1


def test_a_suite_that_states_failures_which_it_does_not_show_is_not_believed() -> None:
    text = (
        '<testsuites><testsuite tests="2" failures="1" errors="0">' + case("a") + "</testsuite></testsuites>"
    )
    assert "states 1 failures" in refused(text.encode())


def test_a_test_that_failed_and_was_skipped_is_red() -> None:
    report = parse(
        case("a", "<skipped/><failure/>"), case("b", "<failure/><skipped/>"), case("c", "<skipped/><error/>")
    )
    assert (report.red, report.skipped) == (3, 0)


@pytest.mark.parametrize(
    "inner", ['<skipped type="todo"/><failure type="x"/>', '<failure/><skipped type="todo"/>']
)
def test_a_failing_todo_was_not_executed(inner: str) -> None:
    report = parse(case("a", inner))
    assert (report.executed, report.skipped) == (0, 1)


def test_nested_suites_and_cases_at_the_root_are_counted_alike() -> None:
    inner = f"<testsuite>{case('b')}<testsuite>{case('c')}</testsuite></testsuite>"
    assert parse_junit(f"<testsuites>{case('a')}{inner}</testsuites>".encode()).passed == 3


def test_a_passing_case_that_stands_for_a_file_is_dropped_and_a_red_one_is_not() -> None:
    text = SUITE.format(case("a.js") + case("b.js", "<failure/>") + case("real"))
    report = parse_junit(text.encode(), is_container=lambda name: name.endswith(".js"))
    assert (report.passed, report.failed, report.dropped) == (1, 1, 1)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"   ",
        b"1 passed",
        b'{"tests": 1}',
        b"\x00\x01",
        b"<testsuites><testsuite><testcase",
        b"<testsuites><testsuite></testsuites>",
        b"<testsuites/><testsuites/>",
        b"<testsuites>\xff\xfe</testsuites>",
        b"<html><body/></html>",
        b"<testcase name='a'/>",
    ],
)
def test_what_is_no_whole_report_is_refused(content: bytes) -> None:
    assert refused(content)


@given(st.integers(0, 10_000))
def test_a_report_that_is_cut_anywhere_is_refused(cut: int) -> None:
    whole = SUITE.format("".join(case(f"t{number}") for number in range(40))).encode()
    assert refused(whole[: cut % len(whole)])


@pytest.mark.parametrize(
    "doctype",
    [
        b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>',
        b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
        b'<!DOCTYPE x SYSTEM "http://127.0.0.1:1/x.dtd">',
        b'<!DOCTYPE x [<!ATTLIST testcase name CDATA "a">]>',
    ],
)
def test_a_document_type_is_refused_before_anything_in_it_counts(doctype: bytes) -> None:
    assert "document type" in refused(doctype + b'<testsuites><testcase name="&b;"/></testsuites>')


def test_an_entity_that_nobody_declared_is_refused() -> None:
    assert refused(b"<testsuites><testcase name='&lol;'/></testsuites>")


def test_elements_nested_without_end_are_refused() -> None:
    assert "nested" in refused(b"<testsuites>" + b"<testsuite>" * 100_000)


def test_a_test_case_inside_a_test_case_is_refused() -> None:
    assert "inside another" in refused(SUITE.format(case("a", case("b"))).encode())


def test_ids_are_bounded_in_number_and_length() -> None:
    report = parse(*(case("x" * 1000, "<failure/>") for _ in range(MAX_FAILING_IDS + 50)))
    assert report.failed == MAX_FAILING_IDS + 50
    assert len(report.failing_ids) == MAX_FAILING_IDS
    assert {len(name) for name in report.failing_ids} == {MAX_ID_CHARS}


@pytest.mark.parametrize("number", ["-1", "x", "1.5", "9" * 5000, "\u0661", ""])
def test_a_stated_number_that_is_none_does_no_harm(number: str) -> None:
    text = f'<testsuite failures="{number}">{case("a")}</testsuite>'
    assert parse_junit(text.encode()).passed == 1


def test_the_reports_of_one_run_add_up() -> None:
    total = merge(
        [parse(case("a")), parse(case("b", "<failure/>"), case("c", "<skipped/>")), Report(dropped=2)]
    )
    assert (total.passed, total.failed, total.skipped, total.dropped) == (1, 1, 1, 2)
    assert total.failing_ids == ("t::b",)
    assert merge([]) == Report()


def test_counts_for_the_ledger_say_executed_and_name_what_is_red() -> None:
    counts = parse(case("a"), case("b", "<error/>"), case("c", "<skipped/>")).counts()
    assert (counts.executed, counts.passed, counts.errored, counts.skipped) == (2, 1, 1, 1)
    assert counts.failing_ids == ("t::b",)


@pytest.mark.field_report("VER-008")
@pytest.mark.parametrize("encoding", ["no-such", "gbk", "shift_jis", "undefined", "idna", "hex", "punycode"])
def test_a_report_in_an_encoding_that_cannot_be_read_is_refused_and_breaks_nothing(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?>{SUITE.format(case("a"))}'
    assert "encoding" in refused(text.encode())
