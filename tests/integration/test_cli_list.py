"""A long list is shown in part to a person, who is told how to see the rest."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.cli import Cli, fill
from tests.support.shop import CONFIG


def test_a_person_is_shown_the_newest_and_told_how_to_see_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled = Cli(tmp_path, config=CONFIG)
    fill(filled)
    known = [each["id"] for each in json.loads(filled.ok("list", "--json"))["tickets"]]
    monkeypatch.setattr("autopilot.daemon.cli.list.MOST_LINES", 3)
    shown, more = re.findall(r"^T-\d+", (said := filled.told("list")), re.MULTILINE), "more: --limit N"
    assert shown == known[-3:]
    assert more in said
    assert [each["id"] for each in json.loads(filled.told("list", "--json"))["tickets"]] == known
    whole = filled.told("list", "--limit", str(len(known)))
    assert re.findall(r"^T-\d+", whole, re.MULTILINE) == known
    monkeypatch.setattr("autopilot.daemon.cli.list.MOST_LINES", len(known))
    assert filled.told("list") == whole
    assert more not in whole
