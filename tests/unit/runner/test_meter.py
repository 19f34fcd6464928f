import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.runner.agents.numbers import cost_micro_usd, count, epoch_ms
from autopilot.runner.meter import Meter, TokenMeter

CEILING = 1_000_000


def after(*readings: int, ceiling: int | None = CEILING) -> Meter:
    meter = Meter(ceiling)
    for reading in readings:
        meter = meter.read(reading)
    return meter


@pytest.mark.covers("F02")
@pytest.mark.parametrize(
    ("readings", "total"),
    [
        ((), 0),
        ((100, 250, 400), 400),
        ((100, 100, 100), 100),
        ((400, 100), 500),
        ((400, 100, 150), 550),
        ((400, 0, 0, 7), 407),
    ],
)
def test_a_counter_is_read_once_and_one_that_falls_starts_anew(readings: tuple[int, ...], total: int) -> None:
    assert after(*readings).total_micro_usd == total


@given(st.lists(st.integers(0, 10**9), max_size=30))
def test_the_total_never_falls_and_never_understates_a_reading(readings: list[int]) -> None:
    meter, seen = Meter(None), 0
    for reading in readings:
        meter = meter.read(reading)
        assert meter.total_micro_usd >= max(seen, reading)
        seen = meter.total_micro_usd


def test_each_process_counts_from_zero_and_adds_to_the_run() -> None:
    meter = after(300_000).next_process().read(200_000)
    assert meter.total_micro_usd == 500_000
    assert meter.left_micro_usd == 500_000


@pytest.mark.covers("E18")
def test_the_ceiling_is_reached_by_all_processes_together() -> None:
    assert not after(999_999).is_over
    assert after(1_000_000).is_over
    assert after(600_000).next_process().read(400_000).is_over
    assert after(600_000).next_process().read(500_000).left_micro_usd == 0


def test_without_a_ceiling_nothing_is_over() -> None:
    meter = after(10**12, ceiling=None)
    assert not meter.is_over
    assert meter.left_micro_usd is None


def test_a_cost_once_lost_stays_unknown_for_the_run() -> None:
    assert not after(5).lost_sight().next_process().read(7).is_known


@pytest.mark.parametrize(
    "cost",
    [None, -0.01, float("nan"), float("inf"), float("-inf"), True, "0.02", [], {}, 10**9],
)
def test_a_cost_that_is_no_amount_is_unknown_never_free(cost: object) -> None:
    assert cost_micro_usd(cost) is None


@pytest.mark.parametrize(
    ("cost", "micro"), [(0, 0), (0.018, 18_000), (1, 1_000_000), (1e-9, 1), (0.0375000001, 37_501)]
)
def test_a_cost_is_rounded_up_to_micro_dollars(cost: float, micro: int) -> None:
    assert cost_micro_usd(cost) == micro


@pytest.mark.parametrize("value", [None, -1, True, "5", 1.5, 10**30, []])
def test_a_count_that_is_none_counts_nothing(value: object) -> None:
    assert count(value) == 0


@pytest.mark.parametrize("value", [None, 0, -5, True, float("nan"), 10**15, "1800000000"])
def test_a_time_that_is_none_is_not_guessed(value: object) -> None:
    assert epoch_ms(value) is None
    assert epoch_ms(1_800_000_000) == 1_800_000_000_000


@pytest.mark.covers("F05")
@pytest.mark.parametrize(
    ("budget", "readings", "total", "is_over"),
    [
        (None, (10**12,), 10**12, False),
        (100, (), 0, False),
        (100, (60, 100), 100, False),
        (100, (60, 101), 101, True),
        (100, (101, 60), 101, True),
        (100, (90, 20), 90, False),
    ],
)
def test_a_phase_is_over_once_it_has_passed_its_budget(
    budget: int | None, readings: tuple[int, ...], total: int, is_over: bool
) -> None:
    meter = TokenMeter(budget)
    for reading in readings:
        meter = meter.read(reading)
    assert (meter.total, meter.is_over) == (total, is_over)


def test_the_processes_of_a_phase_share_its_budget() -> None:
    assert TokenMeter(100).read(60).next_process().read(41).is_over
