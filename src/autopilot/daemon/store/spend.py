"""Spend as it becomes known: during a run, and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, insert, select, update

from autopilot.daemon.store.mapping import to_attempt
from autopilot.daemon.store.prepared import Prepared
from autopilot.daemon.store.tables import ATTEMPTS, TICKETS
from autopilot.daemon.store.tables_host import LEDGER
from autopilot.schemas.errors import StaleTransitionError
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from autopilot.daemon.store.rows import Attempt
    from autopilot.daemon.store.unit import Unit

_IS_MINE = (ATTEMPTS.c.run_id == bindparam("seen_run_id"), ATTEMPTS.c.fence == bindparam("seen_fence"))
_FIND = Prepared(lambda: select(ATTEMPTS).where(*_IS_MINE))
_KEEP = Prepared(lambda: update(ATTEMPTS).where(*_IS_MINE))


def note_spend(unit: Unit, run_id: str, spent_micro_usd: int, *, fence: int) -> None:
    """Raise a run's spend to `spent_micro_usd`, cumulative micro-dollars; a lower amount changes nothing.

    A run that has been settled already is charged the difference: money that is gone is gone.

    Raises:
        StaleTransitionError: `fence-old`: no run of that name has that fence.
    """
    mine = {"seen_run_id": run_id, "seen_fence": fence}
    row = _FIND.row(unit.conn, mine)
    if row is None:
        raise StaleTransitionError("fence-old", f"no run {run_id} with the fence {fence}", hint="look again")
    attempt = to_attempt(row)
    more = spent_micro_usd - attempt.spent_micro_usd
    if more <= 0:
        return
    _KEEP.run(unit.conn, {**mine, "spent_micro_usd": spent_micro_usd})
    if attempt.state == "finished":
        _raise(unit, attempt, more)


def _raise(unit: Unit, attempt: Attempt, more_micro_usd: int) -> None:
    number = unit.conn.execute(
        select(ATTEMPTS.c.ticket).where(ATTEMPTS.c.run_id == attempt.run_id)
    ).scalar_one()
    unit.conn.execute(
        update(TICKETS)
        .where(TICKETS.c.short_id == number)
        .values(spent_micro_usd=TICKETS.c.spent_micro_usd + more_micro_usd)
    )
    unit.conn.execute(
        insert(LEDGER).values(
            run_id=attempt.run_id,
            ticket=number,
            kind="raised",
            micro_usd=more_micro_usd,
            known=True,
            at_ms=unit.now_ms,
        )
    )
    unit.note(Event.BUDGET_SETTLED, level="warning", run=attempt.run_id, cost_micro_usd=more_micro_usd)
