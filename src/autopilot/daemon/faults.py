"""Faults that the loop met: which end the daemon, which wait, how they are told, and the hold that they make.

Must not swallow anything, and must not touch a ticket: `setting_apart.py` does.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from autopilot.config.logs import logger
from autopilot.daemon.trouble import Troubles
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.events import Event
from autopilot.schemas.machine import State
from autopilot.schemas.ticket import Hold

if TYPE_CHECKING:
    from autopilot.config.clock import Clock
    from autopilot.schemas.ticket import Ticket

_HINT = "see: autopilot logs {ticket}; then: autopilot {verb} {ticket}"
_WORK_IS_DONE = frozenset({State.COMMITTED, State.PUBLISHING})
"""What only failed to be published needs no agent anew."""
MAX_REASON_CHARS = 500
_MAX_TRACE_CHARS = 3500
_SILENCE_S = 600.0
_FATAL_PREFIX = "database-"
_BUSY = "database-busy"
_LATER = frozenset({_BUSY, "reading-short", "memory-short", "thread-unstarted"})


def is_fatal(error: BaseException) -> bool:
    """Tell whether state cannot be saved or read: going on would lose or repeat work.

    A database that is only busy is tried again: what a child left behind is still there then.
    """
    return isinstance(error, AutopilotError) and error.code.startswith(_FATAL_PREFIX) and error.code != _BUSY


def is_for_later(error: BaseException) -> bool:
    """Tell whether the machine was short of something, which is no fault of the ticket it met.

    So is a part of ours that cannot be imported: the program was replaced, or is being, under the daemon.
    """
    is_named = isinstance(error, AutopilotError) and error.code in _LATER
    return is_named or isinstance(error, MemoryError | ImportError)


class Complaints:
    """Logs faults; the same one again only after a while, for ticks come as often as once a second."""

    def __init__(self, clock: Clock) -> None:
        """Begin with nothing told."""
        self._clock = clock
        self.troubles = Troubles(clock)
        self._told_s: dict[str, float] = {}

    def tell(self, event: Event, error: Exception, **facts: str) -> None:
        """Log a fault with its trace, and what it is about; one of the tick itself is shown meanwhile."""
        if event is Event.TICK_FAILED:
            self.troubles.note(error)
        text, now_s = repr((event, facts, repr(error))), self._clock.monotonic_s()
        fresh = {told: at_s for told, at_s in self._told_s.items() if now_s - at_s < _SILENCE_S}
        if text not in fresh:
            logger("daemon").error(event, **facts, **told(error))
        self._told_s = {text: now_s, **fresh}


def told(error: BaseException) -> dict[str, str]:
    """Give a fault as facts for the log: what it says, and where it came from."""
    trace = "".join(traceback.format_exception(error))
    return {"error": repr(error), "trace": trace[-_MAX_TRACE_CHARS:]}


def hint(ticket: Ticket) -> str:
    """Say what a person does with a ticket that could not be handled."""
    return _HINT.format(ticket=ticket.id, verb="resume" if ticket.state in _WORK_IS_DONE else "retry")


def hold(ticket: Ticket, reason: str, now_ms: int) -> Hold:
    """Say that a ticket is left alone until the daemon starts anew."""
    return Hold(
        name="ticket-faulted",
        scope=f"ticket:{ticket.id}",
        cause=reason[:MAX_REASON_CHARS],
        since_ms=now_ms,
        cure=hint(ticket),
    )
