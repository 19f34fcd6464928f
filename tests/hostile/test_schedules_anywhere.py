"""What is due daily is due once on every local date: in every zone, over clock changes, sleep and moves."""

from __future__ import annotations

import time
import zoneinfo
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autopilot.config.journal import read_lines
from autopilot.config.logs import LOG_FILE, setup
from autopilot.daemon import demand, schedules, windows
from autopilot.daemon.loop import Loop
from autopilot.daemon.nightly import write_digest_if_due
from autopilot.daemon.store.engine import Store, open_store
from autopilot.schemas.events import Event
from tests.support.clock import FakeClock
from tests.support.shop import Stage

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
ZONES = sorted(zoneinfo.available_timezones())


def ms(text: str) -> int:
    """UTC epoch ms of an ISO time in UTC."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def local(at_ms: int, zone: str) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, tz=ZoneInfo(zone)).replace(tzinfo=None)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(tmp_path / "autopilot.db", FakeClock())) as made:
        yield made


def firings(store: Store, moments: Sequence[tuple[int, str]], at: str) -> list[tuple[str, str, str]]:
    """Look at these moments, each with the zone of the host then: date fired for, local time, zone."""
    fired = []
    for now_ms, name in moments:
        zone = ZoneInfo(name)
        with store.read() as conn:
            due = schedules.look(conn, "digest", at=at, zone=zone, now_ms=now_ms)
        if due.is_open or due.is_first:
            schedules.settle(store, due)
        if due.is_open:
            fired.append((due.day, f"{local(now_ms, name):%Y-%m-%d %H:%M}", name))
    return fired


@pytest.mark.field_report("DMN-018")
@given(
    zone=st.sampled_from(ZONES),
    start_ms=st.integers(ms("1971-01-01T00:00"), ms("2037-06-01T00:00")),
    minute=st.integers(0, 1439),
)
def test_next_times_strictly_increase_in_every_zone_there_is(zone: str, start_ms: int, minute: int) -> None:
    """DMN-018: the next run never got past a gap at midnight: the same instant for ever."""
    at, tz, now_ms = f"{minute // 60:02d}:{minute % 60:02d}", ZoneInfo(zone), start_ms
    for _ in range(10):
        next_ms = windows.next_due_ms(at, tz, now_ms)
        assert now_ms < next_ms <= now_ms + 50 * HOUR_MS
        assert windows.last_due_ms(at, tz, next_ms) == next_ms
        assert windows.last_due_ms(at, tz, next_ms - 1) < next_ms
        shown = local(next_ms, zone)
        is_after_gap = local(next_ms - 1, zone) < shown - timedelta(seconds=1)
        assert f"{shown:%H:%M}" == at or is_after_gap
        now_ms = next_ms


@pytest.mark.field_report("DMN-018")
def test_ten_sundays_at_midnight_in_santiago_are_ten_moments() -> None:
    tz, now_ms, found = ZoneInfo("America/Santiago"), ms("2022-08-28T00:00"), list[int]()
    while len(found) < 10:
        now_ms = windows.next_due_ms("00:00", tz, now_ms)
        if local(now_ms, "America/Santiago").weekday() == date(2022, 8, 28).weekday():
            found.append(now_ms)
    assert found == sorted(set(found))
    assert local(found[2], "America/Santiago") == datetime(2022, 9, 11, 1, 0)  # noqa: DTZ001 - a wall clock's reading


@pytest.mark.field_report("DMN-017")
@pytest.mark.parametrize(
    ("zone", "at", "day", "fires"),
    [
        ("Europe/Berlin", "02:30", "2026-03-29", "03:00"),  # 02:00 to 02:59 do not exist
        ("Europe/Berlin", "02:30", "2026-10-25", "02:30"),  # twice
        ("Australia/Lord_Howe", "02:15", "2026-10-04", "02:30"),  # a gap of half an hour
        ("Australia/Lord_Howe", "01:45", "2026-04-05", "01:45"),  # half an hour twice
        ("America/Santiago", "00:00", "2026-09-06", "01:00"),  # no midnight
        ("America/Santiago", "23:30", "2026-04-04", "23:30"),  # the last hour of a date twice
    ],
)
def test_a_date_with_a_clock_change_fires_exactly_once(
    store: Store, zone: str, at: str, day: str, fires: str
) -> None:
    """DMN-017: it ran twice on the autumn night and not at all on the spring night."""
    middle_ms = ms(f"{day}T12:00")
    moments = [(middle_ms + minute * MINUTE_MS, zone) for minute in range(-4 * 1440, 4 * 1440, 5)]
    fired = firings(store, moments, at)
    assert set(Counter(for_day for for_day, _, _ in fired).values()) == {1}
    assert [moment for for_day, moment, _ in fired if for_day == day] == [f"{day} {fires}"]
    days = [date.fromisoformat(for_day) for for_day, _, _ in fired]
    assert days == [days[0] + timedelta(days=count) for count in range(len(days))]
    assert len(days) >= 6


@pytest.mark.field_report("DMN-017")
@pytest.mark.parametrize("journey", [["Asia/Tokyo", "Europe/Berlin", "America/New_York", "Pacific/Honolulu"]])
@pytest.mark.parametrize("is_back", [False, True])
def test_a_host_that_moves_to_another_zone_fires_once_for_each_date(
    store: Store, journey: list[str], *, is_back: bool
) -> None:
    zones = journey[::-1] if is_back else journey
    moments = [
        (ms("2026-05-01T00:00") + hour * HOUR_MS, zones[min(hour // 61, len(zones) - 1)])
        for hour in range(61 * (len(zones) + 1))
    ]
    fired = Counter(day for day, _, _ in firings(store, moments, "07:30"))
    assert set(fired.values()) == {1}
    seen = {local(now_ms, zone).date() for now_ms, zone in moments}
    inner = {day.isoformat() for day in sorted(seen)[2:-1]}
    assert inner <= set(fired)


def test_the_zone_of_the_host_is_looked_at_again_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(tmp_path)
    paths = stage.paths
    paths.config_file.write_text(paths.config_file.read_text().replace('timezone = "UTC"', 'timezone = ""'))
    assert stage.current.refresh() is True
    shown = []
    try:
        for zone in ("Asia/Tokyo", "America/New_York"):
            monkeypatch.setenv("TZ", zone)
            assert demand.zone_of(stage.settings) is None
            shown.append(windows.day_of(ms("2026-05-01T20:00"), None))
    finally:
        monkeypatch.undo()
        time.tzset()
        stage.store.close()
    assert shown == ["2026-05-02", "2026-05-01"]


@pytest.mark.field_report("DMN-013")
@pytest.mark.parametrize("nights", [1, 9])
def test_what_fell_due_while_the_machine_slept_is_caught_up_once_and_recorded_as_late(
    tmp_path: Path, nights: int
) -> None:
    """DMN-013: the timers moved forward on waking, and what was due meanwhile was lost."""
    stage = Stage(tmp_path)
    loop = Loop(stage.shop, chores=[write_digest_if_due])
    loop.tick()
    stage.clock.advance(23 * 3600)
    loop.tick()
    with setup(stage.paths.logs, clock=stage.clock, stderr=False, max_size_mib=1, keep_files=2):
        stage.clock.suspend((10 + 24 * (nights - 1)) * 3600)
        for _ in range(5):
            loop.tick()
            stage.clock.advance(1)
    lines = [
        line
        for line in read_lines(stage.paths.logs / LOG_FILE).entries
        if line["event"] == Event.DIGEST_WRITTEN
    ]
    assert [line["late_s"] for line in lines] == [1.5 * 3600]
    stage.store.close()
