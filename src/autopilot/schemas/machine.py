"""The ticket's life: states, triggers and the one table of moves.

Must not know storage or processes: `daemon/transitions.py` is the only code that carries a move out.
Stdlib only.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType

TYPE_CHECKING = False  # not from `typing`: ADR 0072
if TYPE_CHECKING:
    from collections.abc import Mapping


class State(StrEnum):
    """Where a ticket rests. docs/architecture.md says who moves each on and what a crash leaves."""

    QUEUED = "queued"
    RUNNING = "running"
    COMMITTED = "committed"
    PUBLISHING = "publishing"
    PUBLISHED = "published"
    PARKED = "parked"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Trigger(StrEnum):
    """What happened to a ticket; each has one function in `daemon/transitions.py`."""

    ENQUEUE = "enqueue"
    CLAIM = "claim"
    PASS = "pass"  # noqa: S105 - a verdict, not a password
    RETRY = "retry"
    RELEASE = "release"
    PARK = "park"
    FAIL = "fail"
    CANCEL = "cancel"
    BEGIN_PUBLISH = "begin_publish"
    PUBLISH_LATER = "publish_later"
    PUBLISH_DONE = "publish_done"
    RESUME_RUN = "resume_run"
    RESUME_PUBLISH = "resume_publish"
    REQUEUE = "requeue"


class WaitingFor(StrEnum):
    """What a parked ticket waits for: a person must act on exactly this (see ADR 0008 and 0165)."""

    MATURITY = "maturity"
    QUESTIONS = "questions"
    BASE_BRANCH = "base-branch"
    BREAKER = "breaker"
    BUDGET = "budget"
    VERIFICATION_FAILED = "verification-failed"
    CREDENTIAL = "credential"
    NO_CHANGES = "no-changes"
    BRANCH_CONFLICT = "branch-conflict"
    CONFIGURATION = "configuration"
    RUNNER_LOST = "runner-lost"
    PUBLISH_DEFERRED = "publish-deferred"


FINAL_STATES = frozenset({State.PUBLISHED, State.FAILED, State.CANCELLED})
MOVING_STATES = frozenset({State.QUEUED, State.RUNNING, State.COMMITTED, State.PUBLISHING})
"""Those that a daemon moves on by itself."""

MOVES: Mapping[tuple[State | None, Trigger], State] = MappingProxyType(
    {
        (None, Trigger.ENQUEUE): State.QUEUED,
        (State.QUEUED, Trigger.CLAIM): State.RUNNING,
        (State.QUEUED, Trigger.PARK): State.PARKED,
        (State.QUEUED, Trigger.CANCEL): State.CANCELLED,
        (State.RUNNING, Trigger.PASS): State.COMMITTED,
        (State.RUNNING, Trigger.RETRY): State.QUEUED,
        (State.RUNNING, Trigger.RELEASE): State.QUEUED,
        (State.RUNNING, Trigger.PARK): State.PARKED,
        (State.RUNNING, Trigger.FAIL): State.FAILED,
        (State.RUNNING, Trigger.CANCEL): State.CANCELLED,
        (State.COMMITTED, Trigger.BEGIN_PUBLISH): State.PUBLISHING,
        (State.COMMITTED, Trigger.PARK): State.PARKED,
        (State.COMMITTED, Trigger.CANCEL): State.CANCELLED,
        (State.PUBLISHING, Trigger.PUBLISH_DONE): State.PUBLISHED,
        (State.PUBLISHING, Trigger.PUBLISH_LATER): State.COMMITTED,
        (State.PUBLISHING, Trigger.PARK): State.PARKED,
        (State.PARKED, Trigger.RESUME_RUN): State.QUEUED,
        (State.PARKED, Trigger.RESUME_PUBLISH): State.COMMITTED,
        (State.PARKED, Trigger.CANCEL): State.CANCELLED,
        (State.FAILED, Trigger.REQUEUE): State.QUEUED,
        (State.CANCELLED, Trigger.REQUEUE): State.QUEUED,
    }
)


def target(state: State | None, trigger: Trigger) -> State | None:
    """Give the state that `trigger` leads to from `state`, or None where the move does not exist."""
    return MOVES.get((state, trigger))
