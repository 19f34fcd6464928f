"""The hours that the operator wrote are the hours that are meant, also in a night in which clocks change."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from autopilot.daemon.checkup import clocks
from autopilot.schemas.checkup import Check
from tests.support.clock import FakeClock
from tests.support.scenes import scene
from tests.support.zones import local_zone

ANY = '[schedule]\nwindow = ""\n'
BERLIN = '[schedule]\nwindow = "22:00-07:00"\ntimezone = "Europe/Berlin"\n'
HERE = "/usr/share/zoneinfo/UTC"


@pytest.fixture(autouse=True)
def _zone() -> Iterator[None]:
    with local_zone("UTC"):
        yield


def zone(home: Path, config: str, *, localtime: str = HERE, **given: str) -> dict[str, Check]:
    found = clocks.time_zone(scene(home, config, environment=given), localtime=Path(localtime))
    return {line.name: line for line in found}


def at(text: str) -> FakeClock:
    return FakeClock(round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000))


@pytest.mark.parametrize("name", ["UTC", ":Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3", "<+03>-3", HERE, ""])
def test_a_zone_that_the_system_knows_is_a_go(tmp_path: Path, name: str) -> None:
    assert not any(line.blocks or line.cure for line in zone(tmp_path, "", TZ=name).values())


@pytest.mark.parametrize("name", ["Europe/Berln", "Mars/Phobos", "/no/such/file", "two words", "../etc"])
def test_a_zone_that_the_system_does_not_know_would_shift_the_window_and_blocks(
    tmp_path: Path, name: str
) -> None:
    line = zone(tmp_path, "", TZ=name)["time zone"]
    assert line.blocks
    assert f"TZ={name!r}" in line.evidence
    assert "22:00-07:00 would be meant in UTC" in line.evidence
    assert "timezone" in line.cure


def test_without_a_window_an_unknown_zone_is_only_told(tmp_path: Path) -> None:
    line = zone(tmp_path, ANY, TZ="Mars/Phobos")["time zone"]
    assert (line.blocks, bool(line.cure)) == (False, True)


def test_a_machine_that_says_nothing_of_its_zone_blocks_a_window(tmp_path: Path) -> None:
    line = zone(tmp_path, "", localtime="/no/such/localtime")["time zone"]
    assert line.blocks
    assert "neither TZ nor /no/such/localtime" in line.evidence


def test_a_zone_of_the_configuration_counts_whatever_the_system_says(tmp_path: Path) -> None:
    lines = zone(tmp_path, BERLIN, TZ="Mars/Phobos")
    assert not lines["time zone"].blocks
    assert "Europe/Berlin" in lines["time zone"].evidence


@pytest.mark.parametrize(("now", "length"), [("2026-03-28 20:00", "8h 00m"), ("2026-10-24 19:00", "10h 00m")])
def test_a_window_in_which_the_clocks_change_is_told_with_its_real_length(
    tmp_path: Path, now: str, length: str
) -> None:
    looked = scene(tmp_path, BERLIN, clock=at(now), environment={})
    (_, window) = clocks.time_zone(looked)
    assert length in window.evidence
    assert "the clocks change in it" in window.evidence
    assert not window.blocks


def test_a_usual_window_says_nothing_of_it(tmp_path: Path) -> None:
    (_, window) = clocks.time_zone(scene(tmp_path, BERLIN, clock=at("2026-06-10 12:00"), environment={}))
    assert "9h 00m" in window.evidence
    assert "change" not in window.evidence


def test_a_switch_that_turns_off_before_the_window_opens_blocks(tmp_path: Path) -> None:
    clock = at("2026-06-10 12:00")
    looked = scene(tmp_path, BERLIN, clock=clock, environment={}, until_ms=clock.now_ms() + 3_600_000)
    (_, window) = clocks.time_zone(looked)
    assert window.blocks
    assert "before the window opens" in window.evidence


def test_the_night_ends_with_the_window_or_with_the_switch_whichever_is_first(tmp_path: Path) -> None:
    clock = at("2026-06-10 23:00")
    closes = at("2026-06-11 05:00").now_ms()  # 07:00 in Berlin
    assert scene(tmp_path, BERLIN, clock=clock).ends_ms() == closes
    assert scene(tmp_path, BERLIN, clock=clock, until_ms=closes - 1).ends_ms() == closes - 1
    assert scene(tmp_path, BERLIN, clock=clock, is_at_any_hour=True).ends_ms() > closes


def test_a_clock_that_shows_another_decade_blocks(tmp_path: Path) -> None:
    line = clocks.clock(scene(tmp_path, clock=FakeClock(0)))
    assert line.blocks
    assert "1970-01-01" in line.evidence


def test_a_clock_that_is_behind_the_queue_is_told(tmp_path: Path) -> None:
    looked = scene(tmp_path, clock=at("2026-06-10 12:00"))
    looked.paths.database.touch()
    line = clocks.clock(looked)
    assert (line.blocks, bool(line.cure)) == (False, True)
    assert "the queue was written at" in line.evidence
