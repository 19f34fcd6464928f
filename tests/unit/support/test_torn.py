"""Where a line is torn by a kill in `mortal.py`."""

from __future__ import annotations

from tests.support.mortal import torn

LINE = b'{"event":"agent.spent","cost_micro_usd":1200}\n'


def test_the_same_line_is_torn_elsewhere_in_another_life_and_never_whole() -> None:
    lengths = [len(torn(LINE, life)) for life in range(400)]
    assert set(lengths) == set(range(len(LINE)))
    assert all(LINE.startswith(torn(LINE, life)) for life in range(50))


def test_the_same_life_tears_it_in_the_same_place() -> None:
    assert torn(LINE, 3) == torn(LINE, 3)


def test_nothing_is_torn_into_nothing() -> None:
    assert torn(b"", 1) == b""
