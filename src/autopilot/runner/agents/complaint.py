"""Sorts a client's own words about its failure by a table of patterns.

Must not hold a table: each client says things in its own way.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from autopilot.runner.agents.ends import Found

if TYPE_CHECKING:
    from collections.abc import Iterable

Row = tuple[re.Pattern[str], Found]
"""A pattern for lower-case words, and what they mean."""


def complaint(words: str, rows: Iterable[Row]) -> Found | None:
    """Give what the first row means that fits, or None where none does. Apostrophes are made plain before."""
    plain = words.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").lower()
    return next((found for pattern, found in rows if pattern.search(plain)), None)
