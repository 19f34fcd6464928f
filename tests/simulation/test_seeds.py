"""Seeds of the simulated world, in child processes that coverage does not slow down."""

from __future__ import annotations

import pytest

from tests.simulation import many

FEW, MANY = 200, 10_000
_STRETCH, _LONG_STRETCH = 50, 490
"""Seeds that one process plays: its start costs as much as six of them."""
_SAME = "1-12"
_WOVEN = "1-200"
_WANTED = (
    *("survives a kill", "is frozen", "wakes", "arrives", "hangs after", "sent before", "ended with 75"),
    *("somebody at the forge: pushes", "somebody at the forge: drops branch"),
)
"""What has to come about around publishers in some of the seeds, or they prove nothing."""


def _stretches(first: int, last: int, size: int) -> list[str]:
    return [f"{start}-{start + size - 1}" for start in range(first, last, size)]


def _assert_in_order(seeds: str) -> None:
    done = many.start("--seeds", seeds)
    assert done.returncode == 0, done.stdout


@pytest.mark.timeout(300)
@pytest.mark.field_report("DMN-027", "DMN-037")
@pytest.mark.parametrize("seeds", _stretches(1, FEW, _STRETCH))
def test_the_kernel_keeps_every_promise_in_a_few_hundred_seeds(seeds: str) -> None:
    _assert_in_order(seeds)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seeds", _stretches(FEW + 1, MANY, _LONG_STRETCH))
def test_the_kernel_keeps_every_promise_in_thousands_of_seeds(seeds: str) -> None:
    _assert_in_order(seeds)


@pytest.mark.timeout(300)
def test_a_seed_is_replayed_bit_for_bit_in_another_process() -> None:
    first, second = (many.start("--seeds", _SAME, "--digests", hash_seed=seed) for seed in ("1", "2"))
    assert first.returncode == 0, first.stdout
    assert first.stdout.count("trace ") == len(many.span(_SAME))
    assert first.stdout == second.stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_publishers_are_frozen_woken_replaced_and_outlived_by_what_they_sent() -> None:
    done = many.start("--seeds", _WOVEN, "-v")
    assert done.returncode == 0, done.stdout[-2000:]
    assert [words for words in _WANTED if words not in done.stdout] == []
