"""The lexer against real bash."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from autopilot.runner.guard.grammar import Redirect, Simple, Word
from tests.fuzz.oracle import Accepted, accepted, unseen
from tests.fuzz.seeds import COUNT, FIXED_PARTS, FIXED_SEED, FRESH_PARTS, again, of_day, of_today
from tests.fuzz.strings import lines
from tests.support.tree import ROOT

_FEW = 600


def _assert_seen(seed: int, count: int, place: Path) -> None:
    known = accepted(lines(seed, count))
    assert len(known) > count // 3, "the generator hardly meets the accepted subset any more"
    assert list(unseen(known, place / "bash")) == [], again(seed, count)


@pytest.mark.slow
@pytest.mark.covers("H02")
@pytest.mark.parametrize("part", range(FIXED_PARTS))
def test_bash_runs_nothing_that_the_guard_has_not_seen(part: int, tmp_path: Path) -> None:
    _assert_seen(FIXED_SEED + part, COUNT, tmp_path)


@pytest.mark.slow
@pytest.mark.covers("H02")
@pytest.mark.parametrize("part", range(FRESH_PARTS))
def test_nor_does_it_of_lines_that_are_others_every_day(part: int, tmp_path: Path) -> None:
    _assert_seen(of_today() + part, COUNT, tmp_path)


def test_a_few_random_lines_are_tried_in_every_run(tmp_path: Path) -> None:
    _assert_seen(FIXED_SEED - 1, _FEW, tmp_path)


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


def test_no_two_days_share_a_seed_and_no_day_has_the_fixed_ones() -> None:
    days = [date(2026, 12, 1) + timedelta(days=number) for number in range(10_000)]
    fresh = {of_day(day) + part for day in days for part in range(FRESH_PARTS)}
    assert len(fresh) == len(days) * FRESH_PARTS
    assert fresh.isdisjoint(range(FIXED_SEED - 1, FIXED_SEED + FIXED_PARTS))


def test_what_a_failure_says_tries_the_same_lines_again() -> None:
    seed, count = of_today(), 200
    words = again(seed, count).partition("script/soak ")[2].split()
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *words],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    known = len(accepted(lines(seed, count)))
    assert f"{count} lines, {known} accepted and run, 0 not seen" in done.stdout
