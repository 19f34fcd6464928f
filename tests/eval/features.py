"""Counts the feature rows that passing tests carry."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypedDict

from tests.support.features import CLASSES, Feature, load_table
from tests.support.tree import ROOT, tree_hash


class UnusableReportError(Exception):
    """There is no report that speaks about this tree."""


class Report(TypedDict):
    """What the pytest plugin writes."""

    tree: str
    exit: int
    deselected: int
    rows: dict[str, list[str]]


class Count(TypedDict):
    """Rows with a test, of all rows."""

    covered: int
    total: int


class AreaCount(Count):
    """An area's count, and the same per class."""

    classes: dict[str, Count]


class Score(TypedDict):
    """The whole result."""

    classes: dict[str, Count]
    areas: dict[str, AreaCount]


def run_suite() -> Report:
    """Run every test, the slow ones too, and read what the plugin wrote."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "features.json"
        arguments = ["-n", "auto", "--dist", "worksteal", "-q", f"--feature-report={path}"]
        subprocess.run(
            [sys.executable, "-P", "-m", "pytest", *arguments],
            cwd=ROOT,
            check=False,
            stdout=sys.stderr,
        )
        return fresh_report(path)


def fresh_report(path: Path, tree: str | None = None) -> Report:
    """Read a report, refusing one that another tree produced.

    Raises:
        UnusableReportError: no such file, not a report, or not of this tree.
    """
    try:
        report: Report = json.loads(path.read_text(encoding="utf-8"))
        made_on = report["tree"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnusableReportError(f"{path} is no feature report ({error!r})") from error
    if made_on != (tree or tree_hash()):
        raise UnusableReportError(f"{path} is stale: the tree has changed since; run script/test")
    return report


def score(rows: Collection[str], features: Mapping[str, Feature] | None = None) -> Score:
    """Covered and total per class and per area."""
    known = list((load_table() if features is None else features).values())
    areas = sorted({feature.area for feature in known})
    return {
        "classes": {cls: _count(rows, [f for f in known if f.cls == cls]) for cls in CLASSES},
        "areas": {area: _area(rows, [f for f in known if f.area == area]) for area in areas},
    }


def _area(rows: Collection[str], known: list[Feature]) -> AreaCount:
    whole = _count(rows, known)
    by_class = {cls: _count(rows, [f for f in known if f.cls == cls]) for cls in CLASSES}
    return {**whole, "classes": by_class}


def _count(rows: Collection[str], known: list[Feature]) -> Count:
    return {"covered": sum(feature.id in rows for feature in known), "total": len(known)}


def table(result: Score) -> str:
    """The score as text: a line per area, a closing line for all."""
    lines = ["area " + "".join(f"{cls:>12}" for cls in (*CLASSES, "all"))]
    for area, count in result["areas"].items():
        cells = [count["classes"][cls] for cls in CLASSES]
        lines.append(_line(area, [*cells, {"covered": count["covered"], "total": count["total"]}]))
    totals = [result["classes"][cls] for cls in CLASSES]
    whole: Count = {
        "covered": sum(count["covered"] for count in totals),
        "total": sum(count["total"] for count in totals),
    }
    return "\n".join([*lines, _line("all", [*totals, whole])])


def _line(name: str, counts: list[Count]) -> str:
    cells = [f"{count['covered']} / {count['total']}" for count in counts]
    return f"{name:<5}" + "".join(f"{cell:>12}" for cell in cells)
