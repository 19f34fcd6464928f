"""Who gets which tests first, when there are several workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import pytest

from tests.support.longest_first import deal


@dataclass(frozen=True, slots=True)
class Made:
    """As much of a test as is looked at."""

    nodeid: str
    slow_s: float = 0.0
    """How long it may take, when it is a slow one."""

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        if not self.slow_s:
            return None
        return pytest.mark.timeout(self.slow_s).mark if name == "timeout" else pytest.mark.slow.mark


def dealt(*made: Made, workers: int) -> list[str]:
    return [item.nodeid for item in deal(cast("list[pytest.Item]", list(made)), workers)]


def quick(number: int) -> list[Made]:
    return [Made(f"q.py::{each}") for each in range(number)]


def test_each_worker_begins_with_what_may_take_longest_and_ends_with_quick_ones() -> None:
    slow = [Made("a.py::1", 100), Made("a.py::2", 100), Made("b.py::1", 600), Made("c.py::1", 300)]
    ids = dealt(*quick(8), *slow, workers=2)
    assert ids[:6] == ["b.py::1", *(f"q.py::{each}" for each in range(5))]
    assert ids[6:] == ["c.py::1", "a.py::1", "a.py::2", "q.py::5", "q.py::6", "q.py::7"]


def test_a_file_of_which_a_part_is_slow_stays_whole_and_in_its_order() -> None:
    mixed = [Made("m.py::1"), Made("m.py::2", 300), Made("m.py::3")]
    assert dealt(*quick(3), *mixed, workers=2) == [
        "m.py::1",
        "m.py::2",
        "m.py::3",
        *(q.nodeid for q in quick(3)),
    ]


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_nothing_is_lost_and_nothing_comes_twice(workers: int) -> None:
    made = [*quick(10), *(Made(f"{name}.py::1", 300) for name in "abcdefgh")]
    assert sorted(dealt(*made, workers=workers)) == sorted(each.nodeid for each in made)
    slow_alone = made[10:]
    assert sorted(dealt(*slow_alone, workers=workers)) == sorted(each.nodeid for each in slow_alone)
