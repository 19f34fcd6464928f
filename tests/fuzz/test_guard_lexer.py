"""The lexer against real bash."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.runner.guard.grammar import Redirect, Simple, Word
from tests.fuzz.oracle import Accepted, accepted, unseen
from tests.fuzz.strings import lines

SEED = 20261130
COUNT = 8_000
PARTS = 4


@pytest.mark.slow
@pytest.mark.covers("H02")
@pytest.mark.parametrize("part", range(PARTS))
def test_bash_runs_nothing_that_the_guard_has_not_seen(part: int, tmp_path: Path) -> None:
    known = accepted(lines(SEED + part, COUNT))
    assert len(known) > COUNT // 3, "the generator hardly meets the accepted subset any more"
    assert list(unseen(known, tmp_path / "bash")) == []


def test_a_few_random_lines_are_tried_in_every_run(tmp_path: Path) -> None:
    known = accepted(lines(SEED - 1, 600))
    assert list(unseen(known, tmp_path / "bash")) == []


def test_what_a_blind_lexer_would_miss_is_found(tmp_path: Path) -> None:
    blind = [
        Accepted("aa; git push", (Simple((), (Word("aa"),), (), None, "", "\n"),)),
        Accepted("echo {a,b}", (Simple((), (Word("echo"), Word("{a,b}")), (), None, "", "\n"),)),
        Accepted("aa > f", (Simple((), (Word("aa"),), (Redirect(">", Word("g")),), None, "", "\n"),)),
        Accepted("aa ~+", (Simple((), (Word("aa"), Word("~+")), (), None, "", "\n"),)),
        Accepted("aa $(bb)", (Simple((), (Word("aa"), Word("$(bb)")), (), None, "", "\n"),)),
    ]
    found = list(unseen(blind, tmp_path / "bash"))
    assert {one.text for one in found} == {one.text for one in blind}


def test_the_same_seed_gives_the_same_lines() -> None:
    assert list(lines(1, 50)) == list(lines(1, 50))
    assert list(lines(1, 50)) != list(lines(2, 50))
