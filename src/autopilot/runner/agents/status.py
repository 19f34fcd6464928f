"""Says what a failure of an agent's service means whose status is known.

Must not read words where the status alone decides: they quote the ticket, the repository and the model, and a
number among them is no status. Source: RFC 9110, 15; docs/agents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.runner.agents.complaint import complaint
from autopilot.runner.agents.ends import BILLING, ERROR, RATE_LIMITED, SERVICE_DOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autopilot.runner.agents.complaint import Row
    from autopilot.runner.agents.ends import Found

OF_THE_REQUEST = frozenset({400, 413})
"""These say that the request is not taken, and leave why to words."""
_BROKEN = range(500, 600)


def of_status(status: int, *, no_sign_in: Found, no_model: Found) -> Found:
    """Say what a status means."""
    match status:
        case 401 | 403:
            return no_sign_in
        case 402:
            return BILLING
        case 404:
            return no_model
        case 429:
            return RATE_LIMITED
    return SERVICE_DOWN if status in _BROKEN else ERROR


def sorted_out(
    status: int,
    words: str,
    rows: Iterable[Row] = (),
    *,
    of_request: Iterable[Row] = (),
    no_sign_in: Found,
    no_model: Found,
) -> Found:
    """Say what a failure means.

    Args:
        status: what the service's answer bore; 0: none is told.
        words: what the client says of it.
        rows: what words mean where no status is told.
        of_request: what they mean where it tells of the request alone.
        no_sign_in: that its sign-in is not taken.
        no_model: that its model is not known.
    """
    if not status:
        return complaint(words, rows) or ERROR
    if status in OF_THE_REQUEST:
        return complaint(words, of_request) or ERROR
    return of_status(status, no_sign_in=no_sign_in, no_model=no_model)
