"""A child that stands still in the middle of what it does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulation.ends import ChildKilled
from tests.simulation.strands import Strand, here


def _talker(said: list[str], name: str) -> Callable[[Strand], int]:
    def act(strand: Strand) -> int:
        try:
            for step in range(3):
                said.append(f"{name}{step}")
                strand.pause(step)
            return 7
        finally:
            said.append(f"{name} out")

    return act


def test_strands_take_turns_and_each_goes_on_where_it_stood() -> None:
    said: list[str] = []
    one, two = Strand(_talker(said, "a")).script(), Strand(_talker(said, "b")).script()
    assert [next(one), next(two), next(one), next(two)] == [0, 0, 1, 1]
    assert said == ["a0", "b0", "a1", "b1"]
    assert next(one) == 2
    with pytest.raises(StopIteration) as end:
        next(one)
    assert end.value.value == 7
    two.close()
    assert said == ["a0", "b0", "a1", "b1", "a2", "a out", "b out"]


def test_what_it_raises_is_raised_where_the_turn_was_given() -> None:
    def act(strand: Strand) -> int:
        strand.pause(None)
        raise ValueError("a fault of its own")

    script = Strand(act).script()
    assert next(script) is None
    with pytest.raises(ValueError, match="of its own"):
        next(script)


def test_one_that_was_never_given_the_turn_does_nothing() -> None:
    said: list[str] = []
    Strand(_talker(said, "a")).script().close()
    assert said == []


def test_what_was_sent_goes_on_without_its_sender_until_it_has_arrived() -> None:
    said: list[str] = []

    def act(strand: Strand) -> int:
        strand.pause(1)
        said.append("arrived")
        if strand.is_orphan:
            raise ChildKilled
        said.append("heard")
        return 0

    strand = Strand(act)
    script = strand.script()
    next(script)
    strand.is_orphan = True
    script.close()
    assert said == []
    with pytest.raises(ChildKilled):
        strand.go_on()
    assert said == ["arrived"]
    assert strand.is_over


def test_a_strand_knows_itself_and_nobody_else_is_one() -> None:
    def act(strand: Strand) -> int:
        assert here() is strand
        strand.pause(0)
        return 0

    next(script := Strand(act).script())
    assert here() is None
    script.close()
