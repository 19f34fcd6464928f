"""Every row of `script/bench` still runs, and docs/performance.md tells of these. No time is judged."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from tests.bench.registry import ROWS
from tests.support.tree import ROOT

PAGE = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")


def named(section: str) -> list[str]:
    """The rows that a section's table names."""
    _, _, rest = PAGE.partition(f"\n## {section}\n")
    return re.findall(r"^\| `([^`]+)` \|", rest.partition("\n## ")[0], re.MULTILINE)


def test_every_row_has_a_name_of_its_own() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)


def test_the_page_explains_and_reports_every_row_and_no_other() -> None:
    names = [row.name for row in ROWS]
    assert named("Rows") == names
    assert named("Results") == names


def test_the_page_states_the_bars_that_are_held() -> None:
    rows = PAGE.partition("\n## Results")[0]
    stated = dict(re.findall(r"^\| `([^`]+)` \|.*\| ([^|]*) \|$", rows, re.MULTILINE))
    assert [name for name, bar in stated.items() if bar != "–"] == [
        row.name for row in ROWS if row.bar is not None
    ]


@pytest.mark.needs(binary="bwrap", apt="bubblewrap")
def test_every_row_can_be_measured() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", "--smoke", "--json"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [row["name"] for row in report["rows"]] == [row.name for row in ROWS]
    assert next(row["value"] for row in report["rows"] if row["name"] == "storm") == 0


def test_a_row_that_does_not_exist_is_refused_with_those_that_do() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", "no-such-row"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "claim and end" in done.stderr) == (2, True)
