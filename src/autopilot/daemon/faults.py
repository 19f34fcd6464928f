"""What becomes of a ticket that the loop could not handle: parked with the reason, or held.

Must not swallow anything: the fault is in the log, with its trace, before this is asked.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from autopilot.config.logs import logger
from autopilot.config.paths import EVENTS_FILE
from autopilot.daemon import decide, transitions, transitions_publish
from autopilot.daemon.judge import told_spend
from autopilot.daemon.store import queries_runs, queries_tickets
from autopilot.daemon.store.mend import mend
from autopilot.daemon.trouble import Troubles
from autopilot.schemas.decision import Cancel, Park
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.events import Event
from autopilot.schemas.machine import State, Trigger, WaitingFor, target
from autopilot.schemas.ticket import Hold

if TYPE_CHECKING:
    from autopilot.config.clock import Clock
    from autopilot.daemon.shop import Shop
    from autopilot.schemas.ticket import Ticket

_HINT = "see: autopilot logs {ticket}; then: autopilot {verb} {ticket}"
_WORK_IS_DONE = frozenset({State.COMMITTED, State.PUBLISHING})
"""What only failed to be published needs no agent anew."""
_MAX_REASON_CHARS = 500
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
    """Tell whether the machine was short of something, which is no fault of the ticket it met."""
    is_named = isinstance(error, AutopilotError) and error.code in _LATER
    return is_named or isinstance(error, MemoryError)


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


def park(shop: Shop, seen: Ticket, reason: str) -> None:
    """Park the ticket from wherever it is now; one whose child still runs is stopped, and judged then.

    A running one that the operator wants gone is gone.
    """
    with shop.store.read() as conn:
        ticket = queries_tickets.ticket(conn, seen.id)
        attempt = queries_runs.attempt(conn, ticket.run_id) if ticket and ticket.run_id else None
    if ticket is None or target(ticket.state, Trigger.PARK) is None:
        return
    watch = shop.supervisor.get(ticket.run_id or "")
    if watch is not None and watch.ending is None:
        watch.stop("it could not be handled")
        return
    decision = Park(WaitingFor.CONFIGURATION, reason[:_MAX_REASON_CHARS], _hint(ticket))
    if ticket.state is State.PUBLISHING:
        transitions_publish.park_publish(shop.store, ticket, None, decision)
        return
    report = None
    if ticket.state is State.RUNNING and attempt is not None:
        told_micro_usd = told_spend(shop.paths.run_dir(attempt.run_id) / EVENTS_FILE)
        report = decide.Loss(attempt.run_id, attempt.fence, reason, "died", shop.now_ms(), told_micro_usd)
        if ticket.cancel_requested:
            wish = Cancel("the operator asked for it while it was running")
            transitions.cancel(shop.store, ticket, wish, report=report, rules=shop.rules)
            return
    transitions.park(shop.store, ticket, decision, report=report, rules=shop.rules)


def mend_rows(shop: Shop) -> None:
    """Make unreadable tickets readable, say so, and park those that would otherwise go on unlooked at."""
    for name, wrong in mend(shop.store).items():
        logger("daemon").error(Event.TICKET_FAULTED, ticket=name, error=wrong)
        with shop.store.read() as conn:
            ticket = queries_tickets.ticket(conn, name)
        if ticket is not None and ticket.state in {State.QUEUED, State.COMMITTED}:
            park(shop, ticket, wrong)


def _hint(ticket: Ticket) -> str:
    return _HINT.format(ticket=ticket.id, verb="resume" if ticket.state in _WORK_IS_DONE else "retry")


def hold(ticket: Ticket, reason: str, now_ms: int) -> Hold:
    """Say that a ticket is left alone until the daemon starts anew."""
    return Hold(
        name="ticket-faulted",
        scope=f"ticket:{ticket.id}",
        cause=reason[:_MAX_REASON_CHARS],
        since_ms=now_ms,
        cure=_hint(ticket),
    )
