"""What becomes of a ticket that the loop could not handle: parked with the reason.

Must not swallow anything: the fault is in the log, with its trace, before this is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.logs import logger
from autopilot.config.paths import EVENTS_FILE
from autopilot.daemon import decide, transitions, transitions_publish
from autopilot.daemon.faults import MAX_REASON_CHARS, hint
from autopilot.daemon.judge import told_spend
from autopilot.daemon.store import queries_runs, queries_tickets
from autopilot.daemon.store.mend import mend
from autopilot.schemas.decision import Cancel, Park
from autopilot.schemas.events import Event
from autopilot.schemas.machine import State, Trigger, WaitingFor, target

if TYPE_CHECKING:
    from autopilot.daemon.shop import Shop
    from autopilot.schemas.ticket import Ticket


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
    decision = Park(WaitingFor.CONFIGURATION, reason[:MAX_REASON_CHARS], hint(ticket))
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
