"""Where every random choice of a simulation comes from: one seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """A seeded stream of choices. Two streams of one seed do not disturb each other."""

    def __init__(self, seed: int, stream: str) -> None:
        self._random = random.Random(f"{seed}/{stream}")

    def is_hit(self, probability: float) -> bool:
        """True so often. A probability of zero uses no number up."""
        return probability > 0 and self._random.random() < probability

    def between(self, least: int, most: int) -> int:
        return self._random.randint(least, most)

    def one_of(self, items: Sequence[T]) -> T:
        return items[self._random.randrange(len(items))]

    def weighted(self, items: Sequence[tuple[T, int]]) -> T:
        roll = self._random.randrange(sum(weight for _, weight in items))
        for item, weight in items:
            roll -= weight
            if roll < 0:
                return item
        raise AssertionError("the weights are empty")

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """What `random.shuffle` does, at half its cost: a week does nothing so often."""
        mixed, bits = list(items), self._random.getrandbits
        for last in range(len(mixed) - 1, 0, -1):
            size = (last + 1).bit_length()
            while (chosen := bits(size)) > last:
                pass
            mixed[last], mixed[chosen] = mixed[chosen], mixed[last]
        return mixed


class SeededEntropy:
    """Fulfils the product's Entropy protocol."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"{seed}/entropy")

    def token(self, size_bytes: int) -> str:
        return self._random.randbytes(size_bytes).hex()

    def fraction(self) -> float:
        return self._random.random()
