"""Eight operations surround a run, each with its own default; the page that says so keeps to the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autopilot.config.layers import read_defaults
from autopilot.config.load import load
from autopilot.config.paths import paths_below
from tests.support.tree import ROOT

PAGE = ROOT / "docs" / "unattended-contract.md"


def rows() -> list[tuple[str, str, str]]:
    text = PAGE.read_text(encoding="utf-8").partition("## What surrounds a run")[2]
    found = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")][2:]
    return [(name.strip(), shipped.strip(), setting.strip(" `")) for name, shipped, setting in found]


def value_of(setting: str) -> Any:  # noqa: ANN401 - a setting of any kind
    value: Any = read_defaults()
    for part in setting.split("."):
        value = value[part]
    return value


@pytest.mark.covers("B21")
def test_each_of_the_eight_operations_has_a_default_and_the_page_tells_it(tmp_path: Path) -> None:
    shipped = {name: (said, value_of(setting)) for name, said, setting in rows()}
    assert len(shipped) == 8
    said, value = shipped["parallel cap"]
    assert said == f"{value}; 0 = no limit"
    assert shipped["clean-up"][1] is False
    assert all(value for name, (said, value) in shipped.items() if said == "on")
    assert load(paths_below(tmp_path)).checkup.every_s > 0
