"""Tells when an agent could not reach its own model because the run's outlet does not list it.

Must not be taken for a wrong key: the outlet answers 403 too, in words of its own (`network/visit.py`).
"""

from __future__ import annotations

from autopilot.runner.agents.ends import Found
from autopilot.schemas.run import Outcome

_MARK = "autopilot: "


def refused_by_us(words: str) -> Found | None:
    """Give the verdict over a failure that carries our outlet's words, or None where it has none."""
    if _MARK not in words:
        return None
    hint = "list the address of its model in `api` of the agent, then resume"
    return Found(Outcome.CONFIGURATION, "agent-host-refused", hint)
