"""What a person may say about a ticket; the command line and the control socket both come here.

Must not decide anything the state machine does not: an act that the state does not allow is refused with the
act that would work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from autopilot.daemon import transitions, transitions_publish
from autopilot.daemon.store import queries_tickets, writes
from autopilot.daemon.store.mapping import unknown
from autopilot.schemas.decision import Cancel
from autopilot.schemas.errors import RefusedError, StaleTransitionError, TicketError
from autopilot.schemas.machine import State

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autopilot.daemon.store.engine import Store
    from autopilot.schemas.ticket import Ticket

T = TypeVar("T")
_LOOKS = 5
"""Looks at a ticket that keeps changing under a person's act."""


def cancel(store: Store, ticket_id: str, *, by: str) -> Ticket:
    """Stop a ticket: at once where it rests, by request where a process works on it.

    Raises:
        RefusedError: `not-cancellable`: it has ended already.
        TicketError: `ticket-unknown`.
    """

    def act(seen: Ticket) -> Ticket:
        match seen.state:
            case State.QUEUED | State.COMMITTED | State.PARKED:
                return transitions.cancel(store, seen, Cancel(f"cancelled by {by}"), by=by)
            case State.RUNNING | State.PUBLISHING:
                return writes.request_cancel(store, seen, by=by)
            case State.PUBLISHED | State.FAILED | State.CANCELLED:
                raise _refused("not-cancellable", seen, "it has ended")

    return _on(store, ticket_id, act)


def retry(store: Store, ticket_id: str, *, by: str) -> Ticket:
    """Queue a ticket anew with its attempts counted from zero; what it spent stays spent.

    Raises:
        RefusedError: `not-retryable`.
        TicketError: `ticket-unknown`.
    """

    def act(seen: Ticket) -> Ticket:
        match seen.state:
            case State.FAILED | State.CANCELLED:
                return transitions.requeue(store, seen, by=by)
            case State.PARKED:
                return transitions.resume_run(store, seen, by=by, reset=True)
            case _:
                raise _refused(
                    "not-retryable", seen, "only a failed, cancelled or parked ticket can be retried"
                )

    return _on(store, ticket_id, act)


def resume(store: Store, ticket_id: str, *, by: str) -> Ticket:
    """Let a parked ticket go on: with publishing where a verified commit waits, else with a run.

    Raises:
        RefusedError: `not-parked`.
        TicketError: `ticket-unknown`.
    """

    def act(seen: Ticket) -> Ticket:
        if seen.state is not State.PARKED:
            raise _refused("not-parked", seen, "only a parked ticket can be resumed")
        if seen.head is not None:
            return transitions_publish.resume_publish(store, seen, by=by)
        return transitions.resume_run(store, seen, by=by)

    return _on(store, ticket_id, act)


def answer(store: Store, ticket_id: str, answers: Sequence[str], *, by: str) -> Ticket:
    """Answer what a parked ticket asked, and queue it; one answer may stand for several questions.

    Raises:
        RefusedError: `nothing-asked` or `answers-missing`.
        TicketError: `ticket-unknown` or `answer-empty`.
    """
    if not all(text.strip() for text in answers):
        what = f"{ticket_id}: an empty answer tells the agent nothing"
        raise TicketError("answer-empty", what, hint="say in a sentence what to do")

    def act(seen: Ticket) -> Ticket:
        with store.read() as conn:
            asked = [item for item in queries_tickets.exchanges(conn, seen.id) if item.answer is None]
        if seen.state is not State.PARKED or not asked:
            raise _refused("nothing-asked", seen, "it asks nothing")
        given = list(answers) * len(asked) if len(answers) == 1 else list(answers)
        if len(given) != len(asked):
            listed = "; ".join(item.question for item in asked)
            raise _refused("answers-missing", seen, f"it asks {len(asked)} questions: {listed}")
        return transitions.resume_run(store, seen, by=by, answers=given)

    return _on(store, ticket_id, act)


def _on(store: Store, ticket_id: str, act: Callable[[Ticket], T]) -> T:
    """Act on the ticket as it is now; when it moves in that very moment, look again."""
    for look in range(_LOOKS):
        with store.read() as conn:
            seen = queries_tickets.ticket(conn, ticket_id)
        if seen is None:
            raise unknown(ticket_id)
        try:
            return act(seen)
        except StaleTransitionError:
            if look == _LOOKS - 1:
                raise
    raise unknown(ticket_id)


def _refused(code: str, seen: Ticket, why: str) -> RefusedError:
    what = f"{seen.id} is {seen.state.value}: {why}"
    return RefusedError(code, what, hint=f"`autopilot why {seen.id}` says what would move it")
