"""Money: what a run is charged, and what may still be started."""

from __future__ import annotations

import pytest

from autopilot.daemon import budget
from autopilot.daemon.budget import Charge
from autopilot.daemon.rules import Rules
from autopilot.daemon.store.rows import Spending
from autopilot.schemas.run import Usage
from tests.support.words import USD

RULES = Rules()


def spending(*, settled: int = 0, reserved: int = 0, live: int = 0) -> Spending:
    return Spending(
        settled_micro_usd=settled,
        reserved_micro_usd=reserved,
        live_spent_micro_usd=live,
        unknown_runs=0,
    )


def told(cost: int) -> Usage:
    return Usage(cost_micro_usd=cost, known=True)


@pytest.mark.covers("F02")
@pytest.mark.parametrize(
    ("usage", "recorded", "charge"),
    [
        (told(2 * USD), 0, Charge(2 * USD, known=True)),
        (told(2 * USD), 3 * USD, Charge(3 * USD, known=True)),  # a lowered record does not refund
        (told(7 * USD), 3 * USD, Charge(7 * USD, known=True)),  # more than reserved is still real
        (told(0), 0, Charge(0, known=True)),
        (Usage(), 0, Charge(5 * USD, known=False)),  # nobody told: never free
        (None, USD, Charge(5 * USD, known=False)),
        (None, 6 * USD, Charge(6 * USD, known=False)),
        (Usage(cost_micro_usd=8 * USD), 0, Charge(8 * USD, known=False)),
    ],
)
def test_a_run_is_charged_once_at_the_most_that_was_ever_told(
    usage: Usage | None, recorded: int, charge: Charge
) -> None:
    assert budget.charge(reserved=5 * USD, recorded=recorded, usage=usage) == charge


def test_a_runner_that_never_started_costs_nothing() -> None:
    assert budget.charge(reserved=USD, recorded=0, usage=None, has_run=False) == Charge(0, known=True)


@pytest.mark.covers("F01")
@pytest.mark.parametrize(
    ("settled", "reserved", "fits"),
    [(0, 0, True), (15 * USD, 5 * USD, True), (15 * USD, 5 * USD + 1, False), (25 * USD, 0, False)],
)
def test_one_more_run_must_fit_below_the_ceiling_with_everything_promised(
    settled: int, reserved: int, fits: bool
) -> None:
    found = spending(settled=settled, reserved=reserved)
    assert budget.fits_ceiling(found, RULES) is fits


@pytest.mark.parametrize(("settled", "live", "is_below"), [(19 * USD, 0, True), (19 * USD, USD, False)])
def test_launching_stops_at_four_fifths_of_what_is_really_spent(
    settled: int, live: int, is_below: bool
) -> None:
    assert budget.is_below_stop(spending(settled=settled, live=live), RULES) is is_below


@pytest.mark.parametrize(("spent", "fits"), [(5 * USD, True), (5 * USD + 1, False)])
def test_a_ticket_pays_for_no_run_beyond_its_own_ceiling(spent: int, fits: bool) -> None:
    assert budget.fits_ticket(spent, RULES) is fits
