"""What any coding agent may say, in our words: an adapter turns its agent's stream into these.

Must not know a particular agent. Amounts are readings of a counter of one process, not differences.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spoke:
    """The agent said something to a person."""

    text: str


@dataclass(frozen=True, slots=True)
class UsedTool:
    """The agent used a tool, or a tool of its gave an answer: a sign of progress."""

    tool: str


@dataclass(frozen=True, slots=True)
class Acted:
    """A tool that the guard watches has run, or begins to: it must have been asked before.

    `use_id` is the client's own name of this use, as its hook tells it too; empty where the stream has none.
    """

    tool: str = ""
    use_id: str = ""


@dataclass(frozen=True, slots=True)
class Spent:
    """The counters of this process so far. `cost_micro_usd` is None where there is no usable cost.

    `is_priced` tells that the cost is not the agent's own total but its tokens times their price.
    """

    cost_micro_usd: int | None
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    is_priced: bool = False


@dataclass(frozen=True, slots=True)
class Limited:
    """The account's usage window: `resets_ms` is when it opens again, where the agent said so."""

    is_refused: bool
    resets_ms: int | None
    window: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """The agent needs an answer from a person."""

    question: str


@dataclass(frozen=True, slots=True)
class Hopeless:
    """The agent goes on trying what cannot work: stop it now."""

    code: str


AgentEvent = Spoke | UsedTool | Acted | Spent | Limited | Asked | Hopeless
