"""Nightly windows, fixed times and usage limits, across midnight and clock changes."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.daemon import windows
from autopilot.daemon.windows import Schedule
from autopilot.schemas.errors import ConfigError

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = Schedule("22:00-07:00", BERLIN)
HOUR = 3_600_000


def ms(text: str) -> int:
    """UTC epoch ms of an ISO time in UTC."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("at", "is_open"),
    [
        ("2026-01-10T20:59", False),  # 21:59 in Berlin
        ("2026-01-10T21:00", True),
        ("2026-01-10T23:30", True),
        ("2026-01-11T05:59", True),
        ("2026-01-11T06:00", False),  # the end belongs to the day
        ("2026-01-11T12:00", False),
    ],
)
def test_the_night_crosses_midnight_in_local_time(at: str, is_open: bool) -> None:
    assert windows.is_open(NIGHT, ms(at)) is is_open


def test_a_shut_window_says_when_it_opens_and_an_open_one_that_it_is() -> None:
    noon, midnight = ms("2026-01-11T11:00"), ms("2026-01-11T23:00")
    assert windows.opens_ms(NIGHT, noon) == ms("2026-01-11T21:00")
    assert windows.opens_ms(NIGHT, midnight) == midnight


def test_the_same_time_twice_is_the_whole_day() -> None:
    always = Schedule("00:00-00:00", BERLIN)
    assert windows.is_open(always, ms("2026-01-11T12:00"))
    assert windows.opens_ms(always, ms("2026-01-11T12:00")) == ms("2026-01-11T12:00")


@pytest.mark.parametrize(
    ("day", "at", "instant"),
    [
        (date(2026, 3, 29), time(1, 59), "2026-03-29T00:59"),
        (date(2026, 3, 29), time(2, 0), "2026-03-29T01:00"),  # 02:00 to 02:59 do not exist
        (date(2026, 3, 29), time(2, 30), "2026-03-29T01:00"),
        (date(2026, 3, 29), time(3, 0), "2026-03-29T01:00"),
        (date(2026, 10, 25), time(2, 30), "2026-10-25T00:30"),  # twice; the first one counts
        (date(2026, 10, 25), time(3, 0), "2026-10-25T02:00"),
    ],
)
def test_a_skipped_time_counts_after_the_gap_and_a_doubled_one_once(
    day: date, at: time, instant: str
) -> None:
    assert windows.instant_ms(day, at, BERLIN) == ms(instant)


@pytest.mark.parametrize(
    ("night", "hours"), [("2026-03-28T21:00", 8), ("2026-10-24T20:00", 10), ("2026-06-10T20:00", 9)]
)
def test_a_night_with_a_clock_change_is_an_hour_shorter_or_longer(night: str, hours: int) -> None:
    opens_ms = ms(night)
    assert windows.opens_ms(NIGHT, opens_ms - HOUR) == opens_ms
    closes_ms = opens_ms + hours * HOUR
    assert windows.is_open(NIGHT, closes_ms - 1)
    assert not windows.is_open(NIGHT, closes_ms)


def test_the_digest_of_a_morning_with_a_doubled_hour_is_due_once() -> None:
    first, second = ms("2026-10-25T00:30"), ms("2026-10-25T01:30")  # both show 02:30
    assert windows.last_due_ms("02:30", BERLIN, first) == first
    assert windows.last_due_ms("02:30", BERLIN, second) == first
    assert windows.next_due_ms("02:30", BERLIN, first) == ms("2026-10-26T01:30")


def test_days_that_were_slept_through_collapse_into_one_firing() -> None:
    assert windows.last_due_ms("07:30", BERLIN, ms("2026-01-20T12:00")) == ms("2026-01-20T06:30")
    assert windows.last_due_ms("07:30", BERLIN, ms("2026-01-20T06:29")) == ms("2026-01-19T06:30")


@given(
    now_ms=st.integers(ms("2020-01-01T00:00"), ms("2037-12-31T00:00")),
    minutes=st.tuples(st.integers(0, 1439), st.integers(0, 1439)),
    zone=st.sampled_from(["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia", "UTC"]),
)
def test_openings_and_due_times_agree_at_any_moment_anywhere(
    now_ms: int, minutes: tuple[int, int], zone: str
) -> None:
    tz = ZoneInfo(zone)
    start, end = (f"{minute // 60:02d}:{minute % 60:02d}" for minute in minutes)
    schedule = Schedule(f"{start}-{end}", tz)
    opens_ms = windows.opens_ms(schedule, now_ms)
    assert opens_ms >= now_ms
    assert windows.is_open(schedule, opens_ms)
    assert opens_ms == now_ms or not windows.is_open(schedule, opens_ms - 1)
    last_ms, next_ms = windows.last_due_ms(start, tz, now_ms), windows.next_due_ms(start, tz, now_ms)
    assert last_ms <= now_ms < next_ms
    assert next_ms - last_ms <= 26 * HOUR
    assert windows.last_due_ms(start, tz, next_ms) == next_ms


def test_without_a_zone_the_systems_own_is_used() -> None:
    at_ms = windows.instant_ms(date(2026, 1, 10), time(22, 0), None)
    assert datetime.fromtimestamp(at_ms / 1000, tz=UTC).astimezone().strftime("%H:%M") == "22:00"


@pytest.mark.parametrize("text", ["22:00", "22-07", "25:00-07:00", "22:00-7:60", "", "22:00–07:00"])
def test_a_window_that_is_none_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError, match="time-of-day") as caught:
        windows.parse_window(text)
    assert "write it like" in caught.value.hint
