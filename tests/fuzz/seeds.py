"""Which random lines a run of the tests tries: some always the same, some others every day."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Final

FIXED_SEED: Final = 20261130
FIXED_PARTS: Final = 4
FRESH_PARTS: Final = 3
COUNT: Final = 8_000
WILDCARDS_SEED: Final = 20261201
WILDCARDS: Final = 6_000
_STRIDE = 100


def of_day(day: date) -> int:
    """Give the first of a day's own seeds, which no other day shares."""
    return day.toordinal() * _STRIDE


def of_today() -> int:
    """Give the first seed of today."""
    return of_day(datetime.now(tz=UTC).date())


def again(seed: int, count: int) -> str:
    """Say how these lines are tried once more."""
    return f"to try them again: script/soak --guard {count} --seed {seed}"
