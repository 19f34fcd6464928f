from __future__ import annotations

from tests.bench.measure import Row, Sample, interleaved
from tests.bench.registry import ROWS
from tests.bench.report import Result, as_json, as_table


def row(bar: float) -> Row:
    return Row("claim", "one claim", "raw sqlite3", bar, lambda rounds: Sample(0.02, 0.01, rounds))


def test_a_row_is_judged_by_its_ratio_to_the_yardstick() -> None:
    results = [Result(row(bar), Sample(0.02, 0.01, 5)) for bar in (1.9, 2.0)]
    assert [entry["within"] for entry in as_json(results)["rows"]] == [False, True]
    assert as_json(results)["rows"][0]["ratio"] == 2.0
    assert as_table(results).count("OVER") == 1


def test_both_sides_take_turns_after_one_unmeasured_round() -> None:
    calls: list[str] = []
    sample = interleaved(lambda: calls.append("ours"), lambda: calls.append("theirs"), rounds=2)
    assert calls == ["ours", "theirs"] * 3
    assert sample.rounds == 2


def test_every_row_of_the_bench_has_a_name_of_its_own() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS) > 0
