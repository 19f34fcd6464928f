"""Each test that docs/reliability.md names is there."""

from __future__ import annotations

import re

from tests.support.tree import ROOT

PAGE = ROOT / "docs" / "reliability.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def test_every_test_that_a_promise_names_exists() -> None:
    named = NAMED.findall(PAGE.read_text(encoding="utf-8"))
    assert len(named) > 40
    for path, name in named:
        source = (ROOT / path).read_text(encoding="utf-8")
        assert f"def {name or 'test_'}" in source, f"{path} has no {name}"
