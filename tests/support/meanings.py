"""What the ends of agents are called in the rows of `played`, and words for them."""

from __future__ import annotations

from typing import Final

from autopilot.schemas.run import Outcome
from tests.support.captures import NEWEST
from tests.support.playing import Means

DONE: Final[Means] = (None, "agent-finished")
FAILED: Final = Outcome.AGENT_FAILED
NO_KEY: Final[Means] = (Outcome.CREDENTIAL, "agent-not-authenticated")
NO_MODEL: Final[Means] = (Outcome.CONFIGURATION, "agent-model-unknown")
NOT_LISTED: Final[Means] = (Outcome.CONFIGURATION, "agent-host-refused")
LIMITED: Final[Means] = (FAILED, "agent-rate-limited")
DOWN: Final[Means] = (FAILED, "agent-service-down")
UNREACHED: Final[Means] = (FAILED, "agent-unreachable")
NO_RESULT: Final[Means] = (FAILED, "agent-no-result")
ERROR: Final[Means] = (FAILED, "agent-error")
SILENT: Final[Means] = (FAILED, "agent-failed-unknown")
BILLED: Final[Means] = (Outcome.CREDENTIAL, "agent-billing")
TOO_LONG: Final[Means] = (FAILED, "agent-prompt-too-long")
LONG: Final = "x" * 500
QUOTED: Final = "messages.401 is too big: 404 503, authentication, unauthorized, api key, model x not found"
"""Words of a failure that is about something else."""


def newest(kind: str, rows: dict[str, Means]) -> dict[tuple[str, str], Means]:
    """Give the rows of the newest release that was recorded."""
    return {(name, NEWEST[kind]): means for name, means in rows.items()}
