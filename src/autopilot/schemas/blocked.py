"""What a run tried and was not let do: facts for the morning, for the reviewer, and for nobody's decision."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from autopilot.schemas.records import Record

MAX_WHAT_CHARS = 300

By = Literal["network", "guard", "sandbox", "tools"]
"""What stood in the way: the outlet, the command guard, the sandbox, the agent's own rules for its tools."""


class Blocked(Record):
    """One kind of attempt. An empty `what` stands for all that came after there were enough kinds."""

    by: By
    what: str = Field(max_length=MAX_WHAT_CHARS, description="as the run wrote it, made one plain line")
    code: str = Field(default="", description="why, in one kebab-case word")
    count: int = Field(default=1, ge=1, le=10**12)
