"""Why a publication ends without a pull request, sorted by who acts next.

`TransientError` means nobody, later. A `Stop` means a person; `waiting_for` says about what. What ends no
publication, as a tracker's refusal, is a `ConfigError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from autopilot.schemas.errors import AutopilotError, ConfigError

if TYPE_CHECKING:
    from autopilot.schemas.publication import PullRequest

WaitingFor = Literal["verification-failed", "branch-conflict", "credential", "configuration"]


class CredentialError(ConfigError):
    """What signs us in is missing, locked or damaged; a publication waits for a credential then."""


class Stop(AutopilotError):
    """A person must act. Never carries a token: no text of a server is put in here uncleaned."""

    def __init__(
        self,
        code: str,
        what: str,
        *,
        waiting_for: WaitingFor,
        hint: str = "",
        pr: PullRequest | None = None,
    ) -> None:
        """Take what AutopilotError takes, what the ticket waits for, and the pull request it is about."""
        super().__init__(code, what, hint=hint)
        self.waiting_for: WaitingFor = waiting_for
        self.pr = pr
