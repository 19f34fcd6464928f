"""Tokens of one model, and what they cost: exact, in integers, rounded up.

Must not know any price: those are the operator's and the shipped table's (`config/prices.toml`).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from autopilot.schemas.records import Record

TOKENS_PER_MTOK = 1_000_000
MAX_SUM = 10**14
Tokens = Annotated[int, Field(ge=0, le=10**15)]
Rate = Annotated[int, Field(ge=0, description="millionths of a US dollar for a million tokens")]


class TokenCount(Record):
    """Tokens by how they are billed; each token stands in one of the four."""

    input: Tokens = 0
    output: Tokens = 0
    cache_read: Tokens = 0
    cache_write: Tokens = 0

    def plus(self, other: TokenCount) -> TokenCount:
        """Add two counts; what is beyond every real run stays at the bound."""
        return TokenCount(
            input=min(self.input + other.input, MAX_SUM),
            output=min(self.output + other.output, MAX_SUM),
            cache_read=min(self.cache_read + other.cache_read, MAX_SUM),
            cache_write=min(self.cache_write + other.cache_write, MAX_SUM),
        )

    def since(self, earlier: TokenCount) -> TokenCount:
        """Give what was used since an earlier reading of the same counters.

        A counter that fell has started anew, and so have all: what it shows then was used since.
        """
        if (
            self.input < earlier.input
            or self.output < earlier.output
            or self.cache_read < earlier.cache_read
            or self.cache_write < earlier.cache_write
        ):
            return self
        return TokenCount(
            input=self.input - earlier.input,
            output=self.output - earlier.output,
            cache_read=self.cache_read - earlier.cache_read,
            cache_write=self.cache_write - earlier.cache_write,
        )


class TokenPrice(Record):
    """What a model's tokens cost."""

    input: Rate
    output: Rate
    cache_read: Rate
    cache_write: Rate

    def cost_micro_usd(self, used: TokenCount) -> int:
        """Give what these tokens cost in micro-dollars, rounded up so that it is never understated."""
        exact = (
            used.input * self.input
            + used.output * self.output
            + used.cache_read * self.cache_read
            + used.cache_write * self.cache_write
        )
        return -(-exact // TOKENS_PER_MTOK)
