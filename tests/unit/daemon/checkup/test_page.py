"""docs/checkup.md tells of every line, and of what the daemon asks again while it is on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.paths import paths_below
from autopilot.daemon.checkup import check
from autopilot.daemon.checkup.everything import every_probe
from autopilot.daemon.checkup.machine_lines import first
from autopilot.daemon.checkup.probe import DOCTOR_ALONE, Probe, Purpose
from tests.support.tree import ROOT

PAGE = (ROOT / "docs/checkup.md").read_text(encoding="utf-8")
CONFIG = """
default_agent = "claude"
[[repo]]
name = "shop"
url = "https://forge.example/o/shop.git"
credential = "web"
"""
_ALONE = " (doctor alone)"


@pytest.fixture
def probes(tmp_path: Path) -> dict[str, Probe]:
    """Give the probes by the name that the page has for their lines, whomever they are about."""
    paths, clock = paths_below(tmp_path), SystemClock()
    paths.config_file.write_text(CONFIG)
    found, broken = every_probe(paths, clock)
    assert not broken
    return {_kind(probe.name): probe for probe in (first(paths), *found)}


def test_every_line_has_its_row_and_no_row_is_of_none(probes: dict[str, Probe]) -> None:
    rows = _rows("| line | NO-GO when |")
    names = {name for row in rows for name in _names(row[0])}
    assert set(probes) <= names, "a line that the page does not tell of"
    assert len(names) == sum(len(_names(row[0])) for row in rows), "two rows of one line"
    source = "".join(each.read_text(encoding="utf-8") for each in Path(check.__file__).parent.glob("*.py"))
    unknown = [name for name in names - set(probes) if not re.search(rf'"{name}[" ]', source)]
    assert not unknown


def test_the_page_says_what_doctor_alone_asks(probes: dict[str, Probe]) -> None:
    said = {name for row in _rows("| line | NO-GO when |") if _ALONE in row[0] for name in _names(row[0])}
    assert {name for name, probe in probes.items() if probe.asked_by == DOCTOR_ALONE} == said & set(probes)


def test_the_page_says_what_is_asked_again_during_the_night_and_what_that_takes(
    probes: dict[str, Probe],
) -> None:
    again = {name: probe for name, probe in probes.items() if Purpose.TICK in probe.asked_by}
    told = {
        (probe.hold, probe.scope.partition(":")[0].replace("repo", "repository"), name, probe.takes.value)
        for name, probe in again.items()
    }
    said = {(hold.strip("`"), *rest) for hold, *rest in _rows("| hold | of |")}
    assert said == told


def _kind(name: str) -> str:
    return re.sub(r"( of| to)? (claude|shop|web)$", "", name)


def _names(cell: str) -> list[str]:
    return re.split(r", |: ", cell.removesuffix(_ALONE))


def _rows(head: str) -> list[list[str]]:
    table = PAGE[PAGE.index(head) :].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]
