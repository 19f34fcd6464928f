from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.features import CLASSES, load_table
from tests.support.inner_pytest import run_pytest

MARKED = """
import pytest

@pytest.mark.covers("B01", "B02")
def test_passes():
    pass

@pytest.mark.covers("B03")
def test_is_skipped():
    pytest.skip("no")

@pytest.mark.covers("B04")
def test_fails():
    assert False

@pytest.mark.covers("B05")
@pytest.mark.xfail
def test_fails_as_expected():
    assert False

@pytest.fixture
def broken():
    yield
    raise RuntimeError("teardown")

@pytest.mark.covers("B06")
def test_breaks_while_cleaning_up(broken):
    pass

@pytest.mark.covers("B07")
@pytest.mark.xfail(strict=False)
def test_passes_by_surprise():
    pass
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_only_rows_of_passing_unskipped_tests_are_reported(tmp_path: Path, workers: str) -> None:
    report = tmp_path / "out" / "features.json"
    run_pytest(tmp_path, MARKED, f"--feature-report={report}", "-n", workers)
    record = json.loads(report.read_text())
    assert list(record["rows"]) == ["B01", "B02"]
    assert record["exit"] == 1


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_mark_with_an_unknown_id_is_a_collection_error(tmp_path: Path, workers: str) -> None:
    source = "import pytest\n\n@pytest.mark.covers('B01', 'Z99')\ndef test_x(): pass\n"
    done = run_pytest(tmp_path, source, "-n", workers)
    assert done.returncode != 0
    assert "not in tests/features.tsv: 'Z99'" in done.stdout
    assert "1 error" in done.stdout


def test_the_table_has_every_row_once_with_a_known_class() -> None:
    table = load_table()
    assert len(table) == 577
    assert {feature.cls for feature in table.values()} == set(CLASSES)
    assert all(feature.id.startswith(feature.area) for feature in table.values())
    assert all(0 < len(feature.line) <= 100 for feature in table.values())
