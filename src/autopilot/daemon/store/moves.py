"""The guarded update that every change of ticket state goes through, with its row of history.

Only `daemon/transitions.py` may use it; a test says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, update

from autopilot.daemon.store.mapping import to_ticket
from autopilot.daemon.store.prepared import Prepared
from autopilot.daemon.store.tables import HISTORY, TICKETS
from autopilot.schemas.errors import InvariantError, StaleTransitionError
from autopilot.schemas.events import Event
from autopilot.schemas.ids import short_id_of, ticket_id
from autopilot.schemas.machine import State, Trigger, target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.sql.dml import ReturningUpdate

    from autopilot.daemon.store.unit import Unit
    from autopilot.schemas.ticket import Ticket

_CLAIMED = frozenset({State.RUNNING, State.PUBLISHING})


def _guarded() -> ReturningUpdate[Any]:
    """Build the move of a ticket that is as it was seen; the columns to set are named by the parameters.

    The fence tells a ticket that went round and came back from one that stayed.
    """
    return (
        update(TICKETS)
        .where(
            TICKETS.c.short_id == bindparam("seen_short_id"),
            TICKETS.c.state == bindparam("seen_state"),
            TICKETS.c.claim_token.is_not_distinct_from(bindparam("seen_claim_token")),
            TICKETS.c.fence == bindparam("seen_fence"),
            TICKETS.c.cancel_requested == bindparam("seen_cancel_requested"),
        )
        .returning(*TICKETS.c)
    )


def _guarded_and_added() -> ReturningUpdate[Any]:
    return _guarded().values(
        spent_micro_usd=TICKETS.c.spent_micro_usd + bindparam("add_spent_micro_usd"),
        tokens=TICKETS.c.tokens + bindparam("add_tokens"),
    )


_MOVE = Prepared(_guarded)
_MOVE_AND_ADD = Prepared(_guarded_and_added)
_RECORD = Prepared(lambda: insert(HISTORY))


def advance(
    unit: Unit,
    seen: Ticket,
    trigger: Trigger,
    values: Mapping[str, Any],
    *,
    by: str,
    reason: str,
    run_id: str | None = None,
) -> Ticket:
    """Move a ticket on, if it still is what the caller saw.

    Args:
        unit: the transaction.
        seen: the ticket as decided on; its state, claim token, fence and cancel flag must still hold.
        trigger: what happened.
        values: columns to set beside the state. Leaving a claimed state clears the claim.
            `add_spent_micro_usd` and `add_tokens`, both or none, are added to what stands there.
        by: who did it: `daemon`, `operator` or a name.
        reason: why, for a person.
        run_id: the run it is about, if any.

    Raises:
        InvariantError: `move-unknown`: the state machine has no such move.
        StaleTransitionError: `ticket-changed`: look again and decide anew. Nothing was written.
    """
    to = target(seen.state, trigger)
    if to is None:
        raise InvariantError(
            "move-unknown", f"{seen.id} is {seen.state.value}: no move {trigger.value} from there"
        )
    cleared = {} if to in _CLAIMED else {"claim_token": None, "cancel_requested": False}
    waiting = {} if to is State.PARKED else {"waiting_for": None}
    changes = {"state": to.value, "updated_ms": unit.now_ms, **cleared, **waiting, **values}
    statement = _MOVE_AND_ADD if "add_tokens" in changes else _MOVE
    row = statement.row(unit.conn, changes | _as_seen(seen))
    if row is None:
        raise StaleTransitionError(
            "ticket-changed", f"{seen.id} is no longer as it was seen ({seen.state.value})", hint="look again"
        )
    record(unit, seen.short_id, trigger, (seen.state, to), by=by, reason=reason, run_id=run_id)
    return to_ticket(row, (short_id_of(name) for name in seen.depends_on))


def record(
    unit: Unit,
    short_id: int,
    trigger: Trigger,
    states: tuple[State | None, State],
    *,
    by: str,
    reason: str,
    run_id: str | None = None,
) -> None:
    """Append one move to the history, and have it logged once it is committed."""
    seen, to = states
    _RECORD.run(
        unit.conn,
        {
            "ticket": short_id,
            "trigger": trigger.value,
            "from_state": None if seen is None else seen.value,
            "to_state": to.value,
            "at_ms": unit.now_ms,
            "by": by,
            "run_id": run_id,
            "reason": reason,
        },
    )
    unit.note(
        Event.TICKET_PARKED if to is State.PARKED else Event.TICKET_MOVED,
        ticket=ticket_id(short_id),
        trigger=trigger.value,
        from_state=None if seen is None else seen.value,
        to_state=to.value,
        run=run_id,
        reason=reason,
    )


def _as_seen(seen: Ticket) -> dict[str, Any]:
    """Say what must still hold."""
    return {
        "seen_short_id": seen.short_id,
        "seen_state": seen.state.value,
        "seen_claim_token": seen.claim_token,
        "seen_fence": seen.fence,
        "seen_cancel_requested": seen.cancel_requested,
    }
