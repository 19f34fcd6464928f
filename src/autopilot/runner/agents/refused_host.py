"""Tells when an agent could not reach its own model because the run's outlet does not list it.

Must not be taken for a wrong key: the outlet answers 403 too, in words of its own (`network/visit.py`).
"""

from __future__ import annotations

from autopilot.runner.agents.ends import Found
from autopilot.schemas.run import Outcome

_MARK = "autopilot: "
_OURS = frozenset({0, 403})


def refused_by_us(words: str, status: int = 0) -> Found | None:
    """Give the verdict over a failure that carries our outlet's words, or None where it has none.

    Args:
        words: what the client says of it.
        status: what the answer bore; 0: none is told. Words of another status only quote us.
    """
    if _MARK not in words or status not in _OURS:
        return None
    hint = "list the address of its model in `api` of the agent, then resume"
    return Found(Outcome.CONFIGURATION, "agent-host-refused", hint)
