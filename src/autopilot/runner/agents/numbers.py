"""Reads numbers out of another program's JSON, where anything may stand.

Must not guess: what is no usable number is None or zero, as the caller says.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from autopilot.schemas.units import MS_PER_S, micro_usd

if TYPE_CHECKING:
    from collections.abc import Mapping

# Above this a "cost" or a "count" is a fault of the teller, not a number to sum up.
_MAX_USD = 1_000_000.0
_MAX_COUNT = 10**15
_MAX_EPOCH_S = 253_402_300_799  # the year 9999


def cost_micro_usd(value: object) -> int | None:
    """Read a cost in dollars; None where it is missing, negative, not finite or absurd: never free."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value) or not 0 <= value <= _MAX_USD:
        return None
    return micro_usd(value)


def count(value: object) -> int:
    """Read a count of tokens or turns; zero where there is no usable one."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_COUNT
    return int(value) if is_count and isinstance(value, int) else 0


def is_zero(value: object) -> bool:
    """Tell whether it is the whole number 0, as an exit code is, and nothing that only counts as none."""
    return isinstance(value, int) and not isinstance(value, bool) and value == 0


def epoch_ms(value: object) -> int | None:
    """Read a time in seconds since 1970; None where there is no usable one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value) or not 0 < value <= _MAX_EPOCH_S:
        return None
    return int(value * MS_PER_S)


def mapping(value: object) -> Mapping[str, Any]:
    """Give the value when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Mapping[str, Any]]:
    """Give the objects of a list; everything else is left out."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: object) -> str:
    """Give the value when it is text, else nothing."""
    return value if isinstance(value, str) else ""
