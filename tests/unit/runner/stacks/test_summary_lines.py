from __future__ import annotations

import pytest

from autopilot.runner.stacks.summary import Summary, node_summary, pytest_summary, unittest_summary


@pytest.mark.parametrize(
    ("line", "red", "executed"),
    [
        ("3 passed in 0.02s", 0, 3),
        ("===== 3 passed in 0.02s =====", 0, 3),
        ("=== 1 failed, 2 passed, 1 warning in 1.50s ===", 1, 3),
        ("=== 1 failed, 1 error in 0.10s ===", 2, 2),
        ("2 passed, 1 skipped, 1 xfailed, 1 xpassed, 6 subtests passed in 0.56s", 0, 3),
        (
            "= 4 failed, 3 passed, 1 skipped, 1 xfailed, 1 xpassed, 2 errors, 7 subtests passed in 0.58s =",
            6,
            10,
        ),
        ("=== 12 passed in 75.31s (0:01:15) ===", 0, 12),
        ("=== 5 deselected in 0.01s ===", 0, 0),
        ("=== no tests ran in 0.01s ===", 0, 0),
        ("=== 2 skipped in 0.01s ===", 0, 0),
    ],
)
def test_the_last_line_of_pytest_is_read(line: str, red: int, executed: int) -> None:
    assert pytest_summary(f"collected 3 items\n\n{line}\n".encode()) == Summary(red=red, executed=executed)


def test_the_last_summary_wins_over_one_that_a_test_printed() -> None:
    log = b"9 passed in 0.01s\n...\n=== 1 failed in 0.02s ===\n"
    assert pytest_summary(log) == Summary(red=1, executed=1)


@pytest.mark.parametrize(
    "log", [b"", b"collected 3 items\n", b"tests/a.py .", b"1 test collected\n", b"3 passed"]
)
def test_a_pytest_run_that_never_ended_has_no_summary(log: bytes) -> None:
    assert pytest_summary(log) is None


def test_the_line_of_our_own_unittest_reporter_is_read() -> None:
    log = b"autopilot: 9 executed, 0 red\nRan 3 tests in 0.0s\n\nFAILED\nautopilot: 3 executed, 1 red\n"
    assert unittest_summary(log) == Summary(red=1, executed=3)
    assert unittest_summary(b"Ran 3 tests in 0.0s\n\nOK\n") is None


NODE = """\
{mark} tests 9
{mark} suites 1
{mark} pass 6
{mark} fail 1
{mark} cancelled 2
{mark} skipped 1
{mark} todo 1
"""


@pytest.mark.parametrize("mark", ["\u2139", "#"])
def test_the_counts_of_node_are_read_and_a_cancelled_test_is_red(mark: str) -> None:
    assert node_summary(NODE.format(mark=mark).encode()) == Summary(red=3, executed=9, is_exact=False)


@pytest.mark.parametrize(
    "log", [b"", "\u2139 tests 1\n\u2139 pass 1\n".encode(), b"tests 1\npass 1\nfail 0\n"]
)
def test_a_node_run_that_never_ended_has_no_summary(log: bytes) -> None:
    assert node_summary(log) is None


@pytest.mark.parametrize(
    "piece", [b"1 a", b'{"id": 12 x, "name": "a in 3 b"},', b" in 1", b"1", b"1 passed "]
)
def test_a_megabyte_without_a_line_end_is_read_once(piece: bytes) -> None:
    """A test that prints so is honest; the time went with the square, and the run stood still for an hour."""
    log = piece * (1_000_000 // len(piece)) + b"\n=== 3 passed in 0.02s ===\n"
    assert pytest_summary(log) == Summary(red=0, executed=3)


@pytest.mark.parametrize("digits", [10, 5000])
def test_a_count_that_no_program_reaches_is_none(digits: int) -> None:
    number = b"1" * digits
    assert pytest_summary(b"=== " + number + b" passed in 0.02s ===\n") == Summary(red=0, executed=0)
    assert unittest_summary(b"autopilot: " + number + b" executed, 0 red\n") is None
    assert node_summary(b"# tests " + number + b"\n# pass 1\n# fail 0\n") is None
