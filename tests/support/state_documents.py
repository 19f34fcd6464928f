"""Smallest valid state documents, and what is refused in them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autopilot.schemas.agent_state import AgentState, parse_state

REQUIRED: dict[str, Any] = {
    "schemaVersion": "3.0.0",
    "taskId": "T-1",
    "shortId": 1,
    "project": "bill",
    "branch": "autopilot/t-1-split",
    "baseBranch": "main",
    "currentPhase": 2,
    "status": "in_progress",
    "startedAt": "2026-01-02T22:00:00Z",
    "phases": {"0": {"status": "done"}},
    "identity": {"name": "Ada", "email": "ada@example.invalid"},
}


def state(**changes: Any) -> AgentState:  # noqa: ANN401  any JSON value
    return parse_state(json.dumps({**REQUIRED, **changes}).encode())


def refused(field: str, **changes: Any) -> None:  # noqa: ANN401  any JSON value
    with pytest.raises(ValueError, match=field):
        state(**changes)
