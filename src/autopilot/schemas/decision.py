"""What the judge may decide after a run or a publication. Each names exactly one move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autopilot.schemas.machine import WaitingFor


@dataclass(frozen=True, slots=True)
class Pass:
    """The commit passed the run's gates: rest as committed."""

    head: str
    base_sha: str


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again no earlier than `not_before_ms`; uses an attempt."""

    not_before_ms: int
    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Release:
    """Back to the queue through no fault of the ticket; counted, but uses no attempt."""

    not_before_ms: int
    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Park:
    """A person must act."""

    waiting_for: WaitingFor
    reason: str
    hint: str
    questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fail:
    """Attempts used up, or it can never work."""

    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Cancel:
    """The operator said stop."""

    reason: str


@dataclass(frozen=True, slots=True)
class PublishLater:
    """The forge or the network was not there; the commit waits, no model is paid again."""

    not_before_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class PublishDone:
    """The draft is open, or the branch is pushed and a person opens the pull request."""

    pr_url: str | None
    pushed: str
    awaiting_pr: bool


RunDecision = Pass | Retry | Release | Park | Fail | Cancel
PublishDecision = PublishDone | PublishLater | Park
