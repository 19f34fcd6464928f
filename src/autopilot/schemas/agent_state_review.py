"""The review history inside the state document. Entries grow over the phases, so further keys are kept."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from autopilot.schemas.agent_state_parts import Count, Loose, OpenPart, Timestamp


class DeltaEntry(OpenPart):
    """One finding in a comparison of two rounds; all five lists share this shape."""

    fingerprint: str | None = None
    severity: str | None = None
    file: str | None = None
    issue: str | None = None


class RoundDelta(OpenPart):
    """How this round's accepted findings relate to what the round before asked for."""

    previous_iteration: int | None = Field(default=None, ge=1)
    new: tuple[DeltaEntry, ...] = ()
    still_present: tuple[DeltaEntry, ...] = ()
    resolved: tuple[DeltaEntry, ...] = ()
    downgraded: tuple[DeltaEntry, ...] = ()
    still_present_blocking: tuple[DeltaEntry, ...] = ()
    recurrence: dict[str, int] = Field(default_factory=dict)
    plateau: bool | None = None
    tripped: bool | None = None
    computed_at: Timestamp | None = None


class Reviewer(OpenPart):
    """A reviewer that returned. No model is not the same as a model called unknown."""

    model: str | None = None
    findings: tuple[Any, ...] = ()
    round_count: int | None = Field(default=None, ge=1)


class ReviewIteration(OpenPart):
    """One round of review."""

    iteration: int | None = Field(default=None, ge=1)
    blocking: Count | None = None
    important: Count | None = None
    suggestion: Count | None = None
    decision: Literal["fix", "accept", "escalate"] | None = None
    delta: RoundDelta | None = None
    reviewers: tuple[Reviewer, ...] = ()
    anonymization_map: Loose | None = None
    triage: Loose | None = None
    accepted: tuple[Any, ...] = ()
    validator_result: Any = None
