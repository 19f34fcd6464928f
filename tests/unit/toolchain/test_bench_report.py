"""What `script/bench` says of what it measured."""

from __future__ import annotations

from tests.bench.measure import SMOKE, Finding, Row, Spent, interleaved, ratio
from tests.bench.report import Result, as_json, as_markdown, as_table, missed

ROW = Row("cli status", "autopilot status", "python -c pass", "x", 4.0)
OVER = Result(ROW, Finding("cli status", (3.0, 5.0, 9.0, 4.5, 4.0)))
TOLD = Result(Row("huey", "ours", "huey", "x", None), Finding("huey", (9.0,)))


def test_the_median_is_held_against_the_bar_and_the_spread_is_shown() -> None:
    assert OVER.finding.value == 4.5
    assert OVER.finding.spread == (4.0, 5.0)
    assert missed([OVER, TOLD]) == ["cli status"]
    entry = as_json([OVER], SMOKE)["rows"][0]
    assert (entry["value"], entry["low"], entry["high"], entry["within"]) == (4.5, 4.0, 5.0, False)


def test_a_row_without_a_bar_only_informs() -> None:
    assert TOLD.is_within
    assert TOLD.verdict == "info"


def test_tables_name_each_row_with_its_bar_and_verdict() -> None:
    line = next(line for line in as_table([OVER], SMOKE).splitlines() if line.startswith("cli status"))
    assert line.split() == ["cli", "status", "4.50x", "4.00x", "to", "5.00x", "4.00x", "MISSED"]
    assert "| `cli status` | 4.50x | 4.00x to 5.00x | ≤ 4.00x | MISSED |" in as_markdown([OVER], SMOKE)


def test_everything_is_timed_in_turns_and_begins_in_turn_after_one_round_to_warm_up() -> None:
    order: list[str] = []
    spent = interleaved({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 2)
    assert order == ["b", "a", "a", "b", "b", "a"]
    assert [len(side) for side in spent.values()] == [2, 2]


def test_ratios_are_taken_round_by_round() -> None:
    found = ratio("x", [Spent(2.0, 0.4), Spent(8.0, 0.4)], [Spent(1.0, 0.1), Spent(2.0, 0.1)])
    assert found.values == (2.0, 4.0)
    assert found.notes["cpu_ratio"] == 4.0
