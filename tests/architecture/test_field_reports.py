"""Each report from the field that a part answers is carried by a test, and told by the part's page."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

import pytest

from tests.support.tree import ROOT, tree_files

LIST: Final = ROOT / "tests" / "field_reports.tsv"
PAGES: Final = {"kernel": "docs/reliability.md", "cell": "docs/security.md", "service": "docs/service.md"}
SECTION: Final = "## Reports from the field\n"
REPORT: Final = re.compile(r"[A-Z]{3}-[0-9]{3}")


def listed() -> list[tuple[str, str]]:
    """Every part with a report that it answers."""
    lines = [line for line in LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    rows = [line.split("\t") for line in lines]
    return [(part, report) for part, report in rows]


def marks(tree: ast.Module) -> Iterator[ast.Call]:
    """Marks that a test bears: its own, one of its parameters, or the whole file's."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            places: list[ast.AST] = [*node.decorator_list]
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            places = [node.value]
        else:
            continue
        calls = (each for place in places for each in ast.walk(place) if isinstance(each, ast.Call))
        yield from (call for call in calls if getattr(call.func, "attr", "") == "field_report")


def named(text: str) -> list[str]:
    """The reports of the marks of a file."""
    constants = [
        each for call in marks(ast.parse(text)) for each in call.args if isinstance(each, ast.Constant)
    ]
    return [str(each.value) for each in constants]


def carried() -> set[str]:
    """Every report that a test of the checkout bears."""
    files = [path for path in tree_files() if path.parts[0] == "tests" and path.name.startswith("test_")]
    return {name for path in files for name in named((ROOT / path).read_text(encoding="utf-8"))}


def test_every_report_that_a_part_answers_is_carried_by_a_test() -> None:
    promised = {report for _, report in listed()}
    assert len(promised) > 50
    assert sorted(promised - carried()) == []


def test_the_list_names_each_report_once_for_each_part() -> None:
    rows = listed()
    assert len(set(rows)) == len(rows)
    assert {part for part, _ in rows} == PAGES.keys()
    assert [report for _, report in rows if not REPORT.fullmatch(report)] == []


@pytest.mark.parametrize(("part", "page"), PAGES.items(), ids=PAGES.keys())
def test_the_page_of_a_part_tells_of_exactly_the_reports_that_it_answers(part: str, page: str) -> None:
    section = (ROOT / page).read_text(encoding="utf-8").partition(SECTION)[2].partition("\n## ")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| ")][1:]
    told = [report for row in rows for report in REPORT.findall(row[1])]
    assert sorted(told) == sorted(report for its, report in listed() if its == part)
    assert all(row[2].strip() for row in rows)


def test_a_mark_on_a_test_a_parameter_or_a_file_counts_and_no_other() -> None:
    mark = "pytest.mark.field_report('SEC-001')"
    assert named(f"@{mark}\ndef test_x(): pass") == ["SEC-001"]
    assert named(f"@pytest.mark.parametrize('x', [pytest.param(1, marks={mark})])\ndef test_x(x): pass") == [
        "SEC-001"
    ]
    assert named(f"pytestmark = [{mark}]") == ["SEC-001"]
    assert named(f"@{mark}\ndef helper(): pass") == []
    assert named(f"unused = {mark}") == []
