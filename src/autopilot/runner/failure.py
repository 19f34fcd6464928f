"""A run that ends without a commit, raised where it is noticed and turned into a result at the edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.git import GitError
from autopilot.schemas.errors import AutopilotError, CeilingError, ConfigError, InvariantError, TicketError
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

_OF_GIT: Mapping[str, Outcome] = {
    "git-auth": Outcome.CREDENTIAL,
    "git-host-key": Outcome.CREDENTIAL,
    "git-no-repo": Outcome.CONFIGURATION,
    "git-owner": Outcome.CONFIGURATION,
    "git-protocol": Outcome.CONFIGURATION,
    "git-lfs-missing": Outcome.CONFIGURATION,
    "git-stopped": Outcome.STOPPED,
}


class RunFailure(AutopilotError):
    """How the run ends: the outcome, and what a person should know about it."""

    def __init__(self, outcome: Outcome, code: str, what: str, *, hint: str = "") -> None:
        """Take the outcome and what AutopilotError takes."""
        super().__init__(code, what, hint=hint)
        self.outcome = outcome


def as_failure(error: AutopilotError) -> RunFailure:
    """Say what an error of another part means for the run."""
    if isinstance(error, RunFailure):
        return error
    return RunFailure(_outcome(error), error.code, error.what, hint=error.hint)


def _outcome(error: AutopilotError) -> Outcome:
    match error:
        case GitError():
            return _OF_GIT.get(error.code, Outcome.INFRASTRUCTURE)
        case CeilingError():
            return Outcome.OVER_CEILING
        case ConfigError() | TicketError():
            return Outcome.CONFIGURATION
        case InvariantError():
            return Outcome.BUG
    return Outcome.INFRASTRUCTURE
