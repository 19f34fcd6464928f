"""Errors, sorted by who acts next.

Each carries a kebab-case `code`, what happened, and a `hint` that says how to mend it. They are raised low,
translated once at a part's edge, and caught in `decide`'s input, the command line's main and the runner's
main. Stdlib only.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every command and child of ours. Source: sysexits.h for 70, 75, 78."""

    OK = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    BUG = 70
    LATER = 75
    CONFIG = 78
    INTERRUPTED = 130


class AutopilotError(Exception):
    """Anything we raise on purpose. `exit_code` is what a command ends with when nobody catches it."""

    exit_code: ExitCode = ExitCode.FAILED

    def __init__(self, code: str, what: str, *, hint: str = "") -> None:
        """Take the kebab-case code, one sentence of what happened, and how to mend it."""
        super().__init__(f"{what} [{code}]" + (f" → {hint}" if hint else ""))
        self.code = code
        self.what = what
        self.hint = hint


class TransientError(AutopilotError):
    """Nobody needs to act: it will be tried again, no earlier than `retry_after_s` when that is known."""

    exit_code = ExitCode.LATER

    def __init__(self, code: str, what: str, *, hint: str = "", retry_after_s: float | None = None) -> None:
        """Take what AutopilotError takes and the shortest wait in seconds."""
        super().__init__(code, what, hint=hint)
        self.retry_after_s = retry_after_s


class TicketError(AutopilotError):
    """The ticket's author acts: its text, base or repository cannot be worked with."""


class CeilingError(AutopilotError):
    """The operator acts: a limit on money or tokens was reached."""

    def __init__(self, code: str, what: str, *, limit: int, spent: int, hint: str = "") -> None:
        """Take what AutopilotError takes, and the limit and the amount spent in the limit's own unit."""
        super().__init__(code, what, hint=hint)
        self.limit = limit
        self.spent = spent


class ConfigError(AutopilotError):
    """The operator acts: configuration is missing, wrong or contradicts itself."""

    exit_code = ExitCode.CONFIG


class RefusedError(AutopilotError):
    """The operator asked for something that the present state does not allow."""

    exit_code = ExitCode.REFUSED


class InvariantError(AutopilotError):
    """We act: something that cannot be has happened. Never caught to go on."""

    exit_code = ExitCode.BUG


class StaleTransitionError(AutopilotError):
    """The ticket changed under the caller; look again and decide anew."""

    exit_code = ExitCode.LATER
