"""Random wildcards against real bash: the same in every run, and others every day."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.seeds import WILDCARDS, WILDCARDS_SEED, again, of_today
from tests.fuzz.wildcards import matched, unsaid, words


def _assert_said(seed: int, place: Path) -> None:
    known = words(seed, WILDCARDS)
    assert len(known) > WILDCARDS // 8
    found = matched(known, place)
    assert len(found) > len(known) // 2
    assert unsaid(known, found) == [], again(seed, 1)


def test_a_wildcard_becomes_nothing_that_the_lexer_did_not_say(tmp_path: Path) -> None:
    _assert_said(WILDCARDS_SEED, tmp_path)


@pytest.mark.slow
def test_nor_does_a_wildcard_of_today(tmp_path: Path) -> None:
    _assert_said(of_today(), tmp_path)


def test_a_lexer_that_says_too_little_is_found(tmp_path: Path) -> None:
    known = words(WILDCARDS_SEED, 200)
    found = matched(known, tmp_path)
    blind = dict.fromkeys(known, "nothing")
    assert found
    assert unsaid(blind, found) == found
