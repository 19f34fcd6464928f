"""Whatever dies on the way, what goes out arrives once at most, and is never called what it was not."""

from __future__ import annotations

import pytest

from tests.simulation import many
from tests.simulation.channel_mutants import OF_CHANNELS

_WANTED = (
    *("goes after killed", "goes before hangs", "goes after lost", "goes away", "goes rejected"),
    *("sent  half", "sent  foreign"),
)


@pytest.mark.covers("G05", "G07")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seeds", ["1-25", "26-50"])
def test_nothing_arrives_twice_in_dozens_of_seeds(seeds: str) -> None:
    done = many.start("--seeds", seeds, "--channels")
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seeds", ["51-250", pytest.param("251-450", marks=pytest.mark.rare)])
def test_nothing_arrives_twice_in_hundreds_of_seeds(seeds: str) -> None:
    done = many.start("--seeds", seeds, "--channels", "-v")
    assert done.returncode == 0, done.stdout[-2000:]
    assert [words for words in _WANTED if words not in done.stdout] == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutant", OF_CHANNELS)
def test_a_fault_planted_into_it_is_found(mutant: str) -> None:
    done = many.start("--seeds", "1-100", "--channels", "--mutant", mutant)
    assert done.returncode == 1, done.stdout
