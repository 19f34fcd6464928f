import pytest

from autopilot.config.clock import Clock
from tests.support.clock import NIGHT_START_MS, FakeClock


def test_the_fake_clock_stands_still_until_it_is_moved() -> None:
    clock = FakeClock()
    assert (clock.now_ms(), clock.monotonic_s()) == (NIGHT_START_MS, 1000.0)
    clock.advance(1.5)
    assert (clock.now_ms(), clock.monotonic_s()) == (NIGHT_START_MS + 1500, 1001.5)


def test_the_fake_clock_is_a_clock_of_the_product() -> None:
    clock: Clock = FakeClock()
    assert clock.now_ms() == NIGHT_START_MS


def test_only_the_wall_of_the_fake_clock_can_go_back() -> None:
    clock = FakeClock()
    clock.jump_wall(-3600)
    assert (clock.now_ms(), clock.monotonic_s()) == (NIGHT_START_MS - 3_600_000, 1000.0)
    with pytest.raises(ValueError, match="cannot go back"):
        clock.advance(-1)
