from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.eval.features import UnusableReportError, fresh_report, score, table
from tests.support.features import Feature, load_table

FEATURES = {
    "B01": Feature("B01", "B", "core", "x"),
    "B02": Feature("B02", "B", "later", "x"),
    "C01": Feature("C01", "C", "core", "x"),
}


def test_the_score_counts_covered_and_total_per_class_and_area() -> None:
    result = score({"B01"}, FEATURES)
    assert result["classes"] == {
        "core": {"covered": 1, "total": 2},
        "in-task": {"covered": 0, "total": 0},
        "later": {"covered": 0, "total": 1},
    }
    assert result["areas"]["B"]["covered"] == 1
    assert result["areas"]["B"]["total"] == 2
    assert result["areas"]["C"]["classes"]["core"] == {"covered": 0, "total": 1}


def test_the_real_table_scores_its_577_rows() -> None:
    result = score(set(load_table()))
    assert sum(count["total"] for count in result["classes"].values()) == 577
    assert sum(count["covered"] for count in result["areas"].values()) == 577


def test_the_score_as_text_ends_with_the_line_for_all() -> None:
    closing = table(score({"B01"}, FEATURES)).splitlines()[-1]
    assert " ".join(closing.split()) == "all 1 / 2 0 / 0 0 / 1 1 / 3"


def test_a_report_of_another_tree_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "features.json"
    path.write_text(json.dumps({"tree": "old", "exit": 0, "deselected": 0, "rows": {}}))
    assert fresh_report(path, tree="old")["rows"] == {}
    with pytest.raises(UnusableReportError, match="stale"):
        fresh_report(path, tree="new")


@pytest.mark.parametrize("content", ["", "[]", "{}"])
def test_a_file_that_is_no_report_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "features.json"
    path.write_text(content)
    with pytest.raises(UnusableReportError, match="no feature report"):
        fresh_report(path)
