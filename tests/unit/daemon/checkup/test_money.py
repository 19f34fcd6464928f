"""Arming when the day's money is spent: it is said with figures, and when it frees."""

from __future__ import annotations

import pytest

from autopilot.daemon.budget import frees_ms
from autopilot.daemon.checkup.money import today
from autopilot.daemon.rules import Rules
from autopilot.daemon.store.rows import Spending
from autopilot.schemas.units import iso_utc

DAY_MS = 24 * 3600 * 1000
USD = 1_000_000
RULES = Rules()  # 25 a day, 5 a run, launching stops at 20
ENDS_MS = 2 * DAY_MS


def spending(settled: int, *, reserved: int = 0, live: int = 0) -> Spending:
    return Spending(
        settled_micro_usd=settled * USD,
        reserved_micro_usd=reserved * USD,
        live_spent_micro_usd=live * USD,
        unknown_runs=0,
    )


def test_room_for_runs_is_counted() -> None:
    line = today(spending(3), [], RULES, ends_ms=ENDS_MS)
    assert not line.blocks
    assert "$3.00 of $25.00 spent in 24 hours; room for 4 more runs" in line.evidence


def test_money_that_frees_only_after_the_night_blocks_and_says_when() -> None:
    ended_ms = DAY_MS + 5
    line = today(spending(21), [(ended_ms, 21 * USD)], RULES, ends_ms=ENDS_MS)
    assert line.blocks
    assert "$21.00 of $25.00" in line.evidence
    assert iso_utc(ended_ms + DAY_MS) in line.evidence
    assert "cost_ceiling_usd" in line.cure


def test_money_that_frees_during_the_night_is_a_warning_with_the_hour() -> None:
    line = today(spending(21), [(1000, 21 * USD)], RULES, ends_ms=ENDS_MS)
    assert (line.blocks, bool(line.cure)) == (False, True)
    assert iso_utc(1000 + DAY_MS) in line.evidence


def test_a_run_that_never_fits_blocks_with_another_cure() -> None:
    line = today(spending(0), [], Rules(run_ceiling_micro_usd=30 * USD), ends_ms=ENDS_MS)
    assert line.blocks
    assert "never fits" in line.evidence
    assert "run_ceiling_usd" in line.cure


def test_reservations_count_against_the_ceiling() -> None:
    line = today(spending(15, reserved=6), [(1, 15 * USD)], RULES, ends_ms=ENDS_MS)
    assert "$6.00 reserved" in line.evidence
    assert line.cure


@pytest.mark.parametrize(
    ("charges", "freed_by"), [([(1, 1 * USD), (2, 4 * USD), (3, 17 * USD)], 2), ([(7, 22 * USD)], 7)]
)
def test_it_frees_when_enough_is_a_day_old_and_not_with_the_first_cent(
    charges: list[tuple[int, int]], freed_by: int
) -> None:
    assert frees_ms(spending(22), charges, RULES) == freed_by + DAY_MS
