"""A week of nights on virtual time: clocks that change, sleeps, a reboot, a locked key ring, refusals.

In child processes that coverage does not slow down. A seed that breaks a promise prints how it is replayed.
"""

from __future__ import annotations

import re

import pytest

from tests.simulation import many
from tests.simulation.trips import TRIPS
from tests.simulation.troubles import ALL_OF_IT, GIVEN
from tests.simulation.week_mutants import OF_WEEK

WEEKS = 20
_TOLD = re.compile(
    r"^seed (?P<seed>\d+): .+ \| replay: script/soak --week --replay (?P=seed) -v$", re.MULTILINE
)
_MARKS = re.compile(r"^\d+ \d+ marks: (.+)$", re.MULTILINE)
_WANTED = ALL_OF_IT | {
    *("full files", "full all"),
    *(f"to {trip.abroad}" for trip in TRIPS),
}
"""What has to come about in some of the seeds, or they prove nothing."""


@pytest.mark.timeout(600)
@pytest.mark.covers("G04")
@pytest.mark.field_report("DMN-013", "DMN-017", "DMN-018", "DMN-035")
def test_every_night_of_a_week_yields_a_digest_every_hold_a_reason_and_nothing_starts_by_day() -> None:
    done = many.start("--week", "--seeds", f"{GIVEN}-{GIVEN}", "-v")
    assert done.returncode == 0, "\n".join(_TOLD.findall(done.stdout)) or done.stdout[-2000:]
    (marks,) = _MARKS.findall(done.stdout)
    assert set(marks.split(", ")) >= ALL_OF_IT


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.field_report("DMN-013", "DMN-017", "DMN-018", "DMN-035")
def test_many_weeks_keep_it_and_all_that_was_laid_down_came_about_in_some() -> None:
    done = many.start("--week", "--seeds", f"{GIVEN + 1}-{WEEKS}", "-v")
    assert done.returncode == 0, "\n".join(_TOLD.findall(done.stdout)) or done.stdout[-2000:]
    marks = {mark for line in _MARKS.findall(done.stdout) for mark in line.split(", ")}
    assert marks >= _WANTED


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_week_is_replayed_bit_for_bit_in_another_process() -> None:
    first, second = (many.start("--week", "--replay", f"{GIVEN}", hash_seed=seed) for seed in ("1", "2"))
    assert first.stdout.partition("\n")[0].startswith(f"seed {GIVEN}: trace ")
    assert first.stdout.partition("\n")[0] == second.stdout.partition("\n")[0]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", OF_WEEK)
def test_a_fault_planted_into_a_night_is_found_and_the_one_line_replays_it(name: str) -> None:
    done = many.start("--week", "--mutant", name, "--seeds", f"{GIVEN}-40")
    assert done.returncode == 1, f"not found: {done.stdout}"
    told = _TOLD.search(done.stdout)
    assert told is not None, done.stdout
    again = many.start("--week", "--mutant", name, "--replay", told["seed"])
    assert told[0] in again.stdout, "the one line does not replay what was found"
