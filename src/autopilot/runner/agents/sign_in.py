"""Whether what signs an agent in can stay outside of its cell, and what is put in its place.

Must not know an agent. Whoever says it must not guess: where it is not known how a client is pointed to
another address, its sign-in goes inside, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.runner.network.calls import Call

ANTHROPIC_URL = "https://api.anthropic.com"
OPENAI_URL = "https://api.openai.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """A sign-in that stays outside.

    `keys` are the values of its variables, which hold stand-ins inside; `base_variable` is told the address
    inside (empty: the adapter tells it otherwise); those that are `hidden` are not set there. `held`: what
    the variables are called outside, where that is another name.
    """

    url: str
    base_variable: str
    calls: tuple[Call, ...]
    keys: Mapping[str, str] = field(repr=False)
    hidden: tuple[str, ...] = ()
    held: tuple[str, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """Give the names by which they are set outside."""
        return self.held or tuple(self.keys)


@dataclass(frozen=True, slots=True)
class Inside:
    """A sign-in that goes inside, and why."""

    variables: tuple[str, ...]
    reason: str
    hint: str


def set_among(names: tuple[str, ...], environment: Mapping[str, str]) -> Mapping[str, str]:
    """Give those of the variables that are set, with their values."""
    return {name: environment[name] for name in names if environment.get(name)}
