"""The simulation finds faults: each one planted is found."""

from __future__ import annotations

import re

import pytest

from tests.simulation import many
from tests.simulation.mutants import BY_NAME

LAST = 1000
"""Most hide in fewer than fifty seeds; the rarest in some hundred."""
HIDES_NEAR = {
    "published_without_asking": 580,
    "anybodys_result": 280,
    "any_fence_believed": 128,
    "ceiling_forgotten": 75,
    "unrecorded_is_free": 60,
    "left_running": 60,
}
"""Where the looking for the rare ones begins, to save time; then, or where the world has changed, at 1."""

_TOLD = re.compile(r"^seed (?P<seed>\d+): .+ \| replay: script/soak --replay (?P=seed) -v$", re.MULTILINE)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.rare if name in HIDES_NEAR else ()) for name in BY_NAME]
)
def test_a_planted_fault_is_found_by_an_invariant(name: str) -> None:
    first = HIDES_NEAR.get(name, 1)
    done = many.start("--mutant", name, "--seeds", f"{first}-{LAST}")
    if done.returncode == 0 and first > 1:
        done = many.start("--mutant", name, "--seeds", f"1-{first - 1}")
    assert done.returncode == 1, f"not found: {done.stdout}"
    told = _TOLD.search(done.stdout)
    assert told is not None, done.stdout
    again = many.start("--mutant", name, "--replay", told["seed"])
    assert told[0] in again.stdout, "the one line does not replay what was found"
    assert "the loop contained" not in done.stdout, "it only crashed, which any test would have shown"
