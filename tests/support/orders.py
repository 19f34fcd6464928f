"""An order for one round of an agent's work, as the runner would give it."""

from pathlib import Path
from typing import Any

from autopilot.runner.agents.adapter import Order
from autopilot.schemas.run import AgentSpec


def make_order(agent: AgentSpec, folder: Path, **changes: Any) -> Order:  # noqa: ANN401
    """Round 1 in `folder`; `changes` replace whole fields."""
    fields: dict[str, Any] = {
        "agent": agent,
        "prompt": folder / "prompt.md",
        "private": folder / "agent",
        "worktree": folder / "worktree",
        "round_no": 1,
    }
    return Order(**{**fields, **changes})
