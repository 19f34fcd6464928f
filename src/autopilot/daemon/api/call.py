"""One call on the control socket, and how an error of ours travels back over it.

Must not touch sockets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autopilot.schemas.errors import (
    AutopilotError,
    ConfigError,
    ExitCode,
    InvariantError,
    RefusedError,
    TransientError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Call:
    """One request, read and checked for shape only."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)


class CallError(AutopilotError):
    """The request itself is wrong; `status` is HTTP's word for how."""

    exit_code = ExitCode.USAGE

    def __init__(self, status: int, code: str, what: str, *, hint: str = "") -> None:
        """Take the HTTP status and what AutopilotError takes."""
        super().__init__(code, what, hint=hint)
        self.status = status


def status_of(error: AutopilotError) -> int:
    """Give HTTP's word for one of our errors."""
    match error:
        case CallError():
            return error.status
        case RefusedError():
            return 409
        case TransientError():
            return 503
        case InvariantError() | ConfigError():
            return 500
        case _:
            return 503 if error.exit_code is ExitCode.LATER else 422


def error_body(error: AutopilotError) -> dict[str, Any]:
    """Give the error as the client rebuilds it."""
    return {
        "error": {
            "code": error.code,
            "what": error.what,
            "hint": error.hint,
            "exit": int(error.exit_code),
        }
    }
