"""The only place that draws random numbers for the judge. Everything else is given an `Entropy`.

With the clock it is all that makes two runs of the daemon differ; a simulation hands in a seeded one.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Protocol

_STEPS = 1_000_000


class Entropy(Protocol):
    """Chance as a value: the system's here, a seeded one in simulations."""

    def token(self, size_bytes: int) -> str:
        """Give so many random bytes as lower-case hex digits."""
        ...

    def fraction(self) -> float:
        """Give a number in [0, 1): it spreads what would come back together."""
        ...


@dataclass(frozen=True, slots=True)
class SystemEntropy:
    """This machine's randomness."""

    def token(self, size_bytes: int) -> str:
        """Give bytes that nobody can guess."""
        return secrets.token_hex(size_bytes)

    def fraction(self) -> float:
        """Give a millionth of one of a million steps."""
        return secrets.randbelow(_STEPS) / _STEPS
