"""The feature table, and the pytest plugin that notes which rows the passing tests carry.

A row counts when at least one test that ran, passed and was not skipped is marked with its id.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.tree import ROOT, tree_hash

TABLE = ROOT / "tests" / "features.tsv"
CLASSES = ("core", "in-task", "later")
_PROPERTY = "covers"


class Feature(NamedTuple):
    """One row of tests/features.tsv."""

    id: str
    area: str
    cls: str
    line: str


def load_table(path: Path = TABLE) -> dict[str, Feature]:
    """Read the table, keyed by id."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {row[0]: Feature(*row) for row in rows[1:]}


def covered_ids(item: pytest.Item) -> list[str]:
    """Every id that the item's `covers` marks name, in order."""
    return [id_ for mark in item.iter_markers("covers") for id_ in mark.args]


def wrong_ids(ids: Iterable[object], known: Iterable[str]) -> list[str]:
    """The ids that are not in the table, as text for an error."""
    table = set(known)
    return [repr(id_) for id_ in ids if id_ not in table]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--feature-report",
        type=Path,
        help="write which feature rows the passing tests carry to this JSON file",
    )


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a mark with an unknown id into a collection error; note the known ones."""
    report = yield
    known = load_table() if report.result else {}
    for item in report.result or []:
        if not isinstance(item, pytest.Item):
            continue
        ids = covered_ids(item)
        wrong = wrong_ids(ids, known)
        if wrong:
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid}: not in tests/features.tsv: {', '.join(wrong)}"
            report.result = []
            break
        item.user_properties += [(_PROPERTY, id_) for id_ in ids]
    return report


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--feature-report")
    if path is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(FeatureReport(path), "feature-report")


class FeatureReport:
    """Gathers the outcome of every test in the process that reports (not in xdist's workers)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tree = tree_hash()
        self._ids: dict[str, list[str]] = {}
        self._passed: set[str] = set()
        self._spoiled: set[str] = set()
        self._deselected = 0

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self._deselected += len(items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        ids = [str(value) for name, value in report.user_properties if name == _PROPERTY]
        self._ids[report.nodeid] = ids
        if report.outcome != "passed" or hasattr(report, "wasxfail"):
            self._spoiled.add(report.nodeid)
        elif report.when == "call":
            self._passed.add(report.nodeid)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        rows: dict[str, list[str]] = {}
        for nodeid in sorted(self._passed - self._spoiled):
            for id_ in self._ids[nodeid]:
                rows.setdefault(id_, []).append(nodeid)
        record = {
            "tree": self._tree,
            "exit": int(exitstatus),
            "deselected": self._deselected,
            "rows": dict(sorted(rows.items())),
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
