"""Prices an agent's tokens where it tells no cost of its own.

Must not guess: without a price for a model, or without usable counts, there is no cost, which is not none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from autopilot.config.plain import one_line
from autopilot.runner.agents.numbers import count
from autopilot.schemas.price import TokenCount
from autopilot.schemas.units import MAX_RUN_MICRO_USD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.schemas.price import TokenPrice

# What an agent tells has bounds; no price can be set for a name with blanks.
_MAX_MODELS, _MAX_NAME_CHARS, _OTHERS = 20, 100, "more than 20 models"
# A model is also called by its snapshot: claude-opus-4-5-20251101.
_SNAPSHOT = re.compile(r"-20\d{6}$")


class Tally:
    """The tokens of one process by model, from counters that only it can reset."""

    def __init__(self) -> None:
        """Start before the first reading."""
        self.last = TokenCount()
        self._used: dict[str, TokenCount] = {}

    def read(self, shown: TokenCount, model: str) -> None:
        """Take a reading of the process's counters; what is new in it was used by this model."""
        model = one_line(model, max_chars=_MAX_NAME_CHARS)
        if model not in self._used and len(self._used) >= _MAX_MODELS:
            model = _OTHERS
        self._used[model] = self._used.get(model, TokenCount()).plus(shown.since(self.last))
        self.last = shown

    @property
    def total(self) -> TokenCount:
        """All tokens so far."""
        total = TokenCount()
        for used in self._used.values():
            total = total.plus(used)
        return total

    def cost_micro_usd(self, prices: Mapping[str, TokenPrice]) -> int | None:
        """Price them all; None when one of the models has no price."""
        return priced(self._used, prices)

    def unpriced(self, prices: Mapping[str, TokenPrice]) -> tuple[str, ...]:
        """Name the models without a price."""
        return unpriced(self._used, prices)


def priced(used: Mapping[str, TokenCount], prices: Mapping[str, TokenPrice]) -> int | None:
    """Price tokens by model, in micro-dollars; None when there are none, or one has no price.

    A sum that no run can cost is a fault of the teller, as it is where an agent tells a cost.
    """
    costs = [
        price.cost_micro_usd(each) if (price := _price_of(model, prices)) else None
        for model, each in used.items()
    ]
    known = [cost for cost in costs if cost is not None]
    is_whole = bool(costs) and len(known) == len(costs)
    return sum(known) if is_whole and sum(known) <= MAX_RUN_MICRO_USD else None


def unpriced(used: Mapping[str, TokenCount], prices: Mapping[str, TokenPrice]) -> tuple[str, ...]:
    """Name the models that have no price."""
    return tuple(model for model in used if _price_of(model, prices) is None)


def counted(shown: Mapping[str, Any], names: Mapping[str, str]) -> TokenCount | None:
    """Read the four counts; None when input or output is missing, or what is there is no count.

    Args:
        shown: another program's object.
        names: the key of each of our four counts in it.
    """
    present = {ours: shown[key] for ours, key in names.items() if key in shown}
    if not {"input", "output"} <= present.keys() or not all(map(_is_count, present.values())):
        return None
    return TokenCount.model_validate(present)


def usable(shown: Mapping[str, Any], names: Mapping[str, str], *, last: TokenCount) -> TokenCount:
    """Read those of the four counts that can be read; the others stand where they stood last."""
    found = {ours: shown[key] for ours, key in names.items() if key in shown and _is_count(shown[key])}
    return last.model_copy(update=found)


def _is_count(value: object) -> bool:
    return not isinstance(value, bool | float) and value == count(value)


def _price_of(model: str, prices: Mapping[str, TokenPrice]) -> TokenPrice | None:
    return prices.get(model) or prices.get(_SNAPSHOT.sub("", model))
