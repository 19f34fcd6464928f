"""A run that ends without a commit, raised where it is noticed and turned into a result at the edge."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING

from autopilot.config.git import GitError
from autopilot.config.gitfault import OF_THE_MACHINE
from autopilot.schemas.errors import AutopilotError, CeilingError, ConfigError, InvariantError, TicketError
from autopilot.schemas.run import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_OF_GIT: Mapping[str, Outcome] = {
    "git-auth": Outcome.CREDENTIAL,
    "git-host-key": Outcome.CREDENTIAL,
    "git-no-repo": Outcome.CONFIGURATION,
    "git-owner": Outcome.CONFIGURATION,
    "git-protocol": Outcome.CONFIGURATION,
    "git-lfs-missing": Outcome.CONFIGURATION,
    "git-stopped": Outcome.STOPPED,
}


_OF_THE_MACHINE = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EIO,
        errno.EROFS,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ESTALE,
    }
)


class RunFailure(AutopilotError):
    """How the run ends: the outcome, and what a person should know about it."""

    def __init__(self, outcome: Outcome, code: str, what: str, *, hint: str = "") -> None:
        """Take the outcome and what AutopilotError takes."""
        super().__init__(code, what, hint=hint)
        self.outcome = outcome


@contextmanager
def reading_the_agents() -> Iterator[None]:
    """Read what an agent left: what goes wrong with that is its own doing, and not this machine's.

    Raises:
        RunFailure: it cannot be read; agent-failed.
        GitError, OSError: the machine itself has no room, no git or no descriptor left, or we were stopped.
    """
    hint = "look at its log; the worktree is kept as it is"
    try:
        yield
    except GitError as exc:
        if exc.code in OF_THE_MACHINE:
            raise
        what = f"what the agent left cannot be read: {exc.what}"
        raise RunFailure(Outcome.AGENT_FAILED, "not-committable", what, hint=hint) from exc
    except OSError as exc:
        if is_of_the_machine(exc):
            raise
        what = f"what the agent left cannot be read: {exc.strerror or exc}"
        raise RunFailure(Outcome.AGENT_FAILED, "not-committable", what, hint=hint) from exc


def is_of_the_machine(exc: OSError) -> bool:
    """Tell whether an error says nothing about the file that was to be read."""
    return exc.errno in _OF_THE_MACHINE


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
