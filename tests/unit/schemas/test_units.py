from __future__ import annotations

from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.schemas.units import (
    MICRO_PER_USD,
    format_duration,
    format_usd,
    in_local_time,
    iso_utc,
    micro_usd,
    parse_duration_s,
    parse_iso_ms,
)

YEAR_9000_MS = 221_845_392_000_000


@pytest.mark.parametrize(
    ("dollars", "micro"),
    [
        ("0", 0),
        ("0.0000001", 1),
        ("0.0184561", 18457),
        (25, 25_000_000),
        (0.1, 100_000),
        (Decimal("1.5"), 1_500_000),
    ],
)
def test_a_cost_is_rounded_up_to_the_next_micro_dollar(dollars: Decimal | float | str, micro: int) -> None:
    assert micro_usd(dollars) == micro


@pytest.mark.parametrize(
    "dollars", ["", "free", "nan", "inf", "-inf", "-0.01", float("nan"), float("inf"), "1e999999"]
)
def test_what_is_no_finite_cost_is_refused(dollars: float | str) -> None:
    with pytest.raises(ValueError, match="dollars"):
        micro_usd(dollars)


@given(st.integers(0, 10**12))
def test_micro_dollars_survive_the_way_through_dollars(micro: int) -> None:
    assert micro_usd(Decimal(micro) / MICRO_PER_USD) == micro


@pytest.mark.parametrize(
    ("micro", "text"),
    [
        (0, "$0.00"),
        (18, "<$0.0001"),
        (18_000, "$0.018"),
        (100_040, "$0.10"),
        (123_456, "$0.1235"),
        (2_000_000, "$2.00"),
        (2_500_000, "$2.50"),
        (1_000_000_010, "$1000.00"),
    ],
)
def test_money_is_shown_with_two_to_four_decimals(micro: int, text: str) -> None:
    assert format_usd(micro) == text


@given(st.integers(1, 10**12))
def test_spent_money_is_never_shown_as_nothing(micro: int) -> None:
    assert format_usd(micro) != "$0.00"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("10m", 600),
        ("1h30m", 5400),
        ("2d", 172_800),
        (" 1H 5m ", 3900),
        ("250ms", 0.25),
        ("1.5h", 5400),
    ],
)
def test_a_duration_is_read_as_a_person_writes_it(text: str, seconds: float) -> None:
    assert parse_duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "5", "m", "-5m", "5m!", "1h-30m", "soon", "1e3s", "9" * 400 + "d", "99999999d"]
)
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration_s(text)


@given(st.integers(0, 86_399))
def test_a_duration_below_a_day_survives_being_shown_and_read(seconds: int) -> None:
    assert seconds - 60 < parse_duration_s(format_duration(seconds)) <= seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (-3, "0s"),
        (45, "45s"),
        (59.7, "1m 00s"),
        (725, "12m 05s"),
        (12_000, "3h 20m"),
        (187_200, "2d 4h"),
    ],
)
def test_a_duration_is_shown_in_two_units_at_most(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.integers(0, YEAR_9000_MS))
def test_an_instant_survives_being_written_and_read(epoch_ms: int) -> None:
    text = iso_utc(epoch_ms)
    assert text.endswith("Z")
    assert parse_iso_ms(text) == epoch_ms


def test_an_offset_is_honoured_and_a_time_without_one_is_refused() -> None:
    assert parse_iso_ms("2026-01-31T22:00:00+01:00") == parse_iso_ms("2026-01-31T21:00:00Z")
    with pytest.raises(ValueError, match="offset"):
        parse_iso_ms("2026-01-31T22:00:00")
    with pytest.raises(ValueError, match=r"."):
        parse_iso_ms("tonight")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("not before 2026-01-02T23:30:00.000Z", "not before 2026-01-03 00:30 CET"),
        ("(2026-07-02T22:30:59.999Z)", "(2026-07-03 00:30 CEST)"),
        ("2026-01-02T00:00:00.000Z, 2026-01-03T00:00:00.000Z", "2026-01-02 01:00 CET, 2026-01-03 01:00 CET"),
        ("9999-12-31T23:59:59.000Z", "9999-12-31T23:59:59.000Z"),
        ("2026-13-41T25:00:00.000Z", "2026-13-41T25:00:00.000Z"),
        ("2026-01-02T23:30:00Z in a log", "2026-01-02T23:30:00Z in a log"),
        ("x2026-01-02T23:30:00.000Z", "x2026-01-02T23:30:00.000Z"),
        ("", ""),
    ],
)  # fmt: skip
def test_our_own_times_in_a_text_are_shown_by_the_clock_on_the_wall(text: str, shown: str) -> None:
    assert in_local_time(text, ZoneInfo("Europe/Berlin")) == shown


@given(st.integers(min_value=0, max_value=YEAR_9000_MS))
def test_every_time_that_we_write_is_known_again(epoch_ms: int) -> None:
    assert "T" not in in_local_time(iso_utc(epoch_ms), ZoneInfo("Asia/Kathmandu"))
