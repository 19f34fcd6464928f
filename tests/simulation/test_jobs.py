"""Several processes play what one would: no word of the command line is lost on the way to them."""

from __future__ import annotations

import re

import pytest

from tests.simulation import many

_MUTANT = "release_unsettled"
_TICKS = re.compile(r"^2 seeds, 0 broken; (\d+) ticks", re.MULTILINE)
_TICKS_OF_A_WEEK = 500


@pytest.mark.timeout(300)
def test_a_planted_fault_is_found_by_several_processes_too() -> None:
    alone = many.start("--mutant", _MUTANT, "--seeds", "1-16")
    assert alone.returncode == 1, alone.stdout
    done = many.start("--mutant", _MUTANT, "--seeds", "1-16", "--jobs", "2")
    assert done.returncode == 1, done.stdout
    assert alone.stdout.splitlines()[0] in done.stdout


@pytest.mark.timeout(600)
def test_weeks_are_played_by_several_processes_too() -> None:
    done = many.start("--week", "--seeds", "1-2", "--jobs", "2")
    found = _TICKS.search(done.stdout)
    assert found is not None, done.stdout
    assert int(found[1]) > 2 * _TICKS_OF_A_WEEK, "no week has so few ticks"


@pytest.mark.parametrize("words", [("--digests",), ("--replay", "3")])
def test_what_several_processes_cannot_say_is_refused(words: tuple[str, ...]) -> None:
    done = many.start(*words, "--jobs", "2")
    assert done.returncode == 2
    assert "--jobs" in done.stdout
