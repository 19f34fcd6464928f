"""Sorts a client's own words about its failure by a table of patterns.

Must not hold a table: each client says things in its own way.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autopilot.schemas.run import Outcome

Row = tuple[re.Pattern[str], "Outcome", str, str]
"""A pattern for lower-case words, and the outcome, the code and the hint that they mean."""


def complaint(words: str, rows: Iterable[Row]) -> tuple[Outcome, str, str] | None:
    """Give what the first row means that fits, or None where none does. Apostrophes are made plain before."""
    plain = words.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").lower()
    for pattern, outcome, code, hint in rows:
        if pattern.search(plain):
            return outcome, code, hint
    return None
