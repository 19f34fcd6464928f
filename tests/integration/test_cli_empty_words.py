"""A word of a command line that says nothing: a variable of the shell that was not set."""

from __future__ import annotations

import pytest

from autopilot.schemas.errors import ExitCode
from tests.support.cli import Cli, fill
from tests.support.shop import CONFIG


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A queue with a ticket in every resting state, of which nothing may change."""
    made = Cli(tmp_path_factory.mktemp("filled"), config=CONFIG)
    fill(made)
    return made


@pytest.mark.parametrize(
    "words",
    [
        ("add", ""),
        ("add", "x", "--base="),
        ("add", "x", "--source-key="),
        ("add", "--file", ""),
        ("answer", "T-1", ""),
        ("backup", "--to", ""),
        ("restore", ""),
        ("list", "--repo", ""),
        ("logs", "T-1", "--run", ""),
        ("on", "--until", ""),
        ("cancel", "T-1", ""),
        ("breaker", "reset", ""),
    ],
    ids=" ".join,
)
def test_a_word_that_says_nothing_is_refused_and_changes_nothing(filled: Cli, words: tuple[str, ...]) -> None:
    before = filled.ok("list", "--json"), sorted(filled.home.rglob("*"))
    said = filled.call(*words)
    assert (said.code, said.out) == (ExitCode.FAILED, "")
    assert "is empty" in said.err
    assert "a variable of the shell" in said.err
    assert (filled.ok("list", "--json"), sorted(filled.home.rglob("*"))) == before
