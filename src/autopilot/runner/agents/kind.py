"""What is known of a kind of agent beside how it is started: how it signs in, what that costs, what it needs.

Must not know a particular one: each adapter tells it of its own, as `KIND` at the end of its file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from autopilot.runner.agents.adapter import Agent
    from autopilot.runner.agents.release import Need
    from autopilot.runner.agents.sign_in import Inside, Outside
    from autopilot.schemas.run import AgentSpec


def _for_any_model(kind: Kind, _: AgentSpec) -> Kind:
    return kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of agent. What is left out it does not have, or nobody knows."""

    adapter: Callable[[], Agent]
    sign_in: Callable[[AgentSpec, Mapping[str, str]], Outside | Inside | None]
    """Where what signs it in is held, whatever `broker` says; None: nothing of it is set."""
    asks_guard: bool
    """Whether the guard is asked before it uses a tool."""
    program: str | None = None
    need: Need | None = None
    """Which release of its program is the oldest that will do; None: any does."""
    variables: tuple[str, ...] = ()
    """Those of ours that are this agent's alone, whoever the operator is."""
    keys: tuple[str, ...] = ()
    """Any one of these signs it in, the most usual first. None: it is not asked, for it may need nothing."""
    paid: tuple[str, ...] = ()
    """Those of its keys that are paid by use, the one that wins first."""
    subscribed: tuple[str, ...] = ()
    """Those of its keys that a subscription gives, the one that wins first."""
    homes: tuple[str, ...] = ()
    """Name where the person's own login lies, which no run sees: none of them signs it in."""
    services: tuple[str, ...] = ()
    """Where its model's service usually is."""
    base_variable: str | None = None
    """The variable that says where it is instead."""
    brief: tuple[str, ...] = ()
    """Arguments that make it answer one word without tools and long instructions."""
    of_model: Callable[[Kind, AgentSpec], Kind] = _for_any_model
    """Leaves of all this what belongs to the model that is named."""
