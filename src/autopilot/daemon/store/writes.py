"""Writes that move no ticket: processes, spend, gates, switch, breakers, holds, schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, literal_column, select, update

from autopilot.daemon import breaker as rule
from autopilot.daemon.store import past_holds, queries_host, queries_runs
from autopilot.daemon.store.brakes import keep_breaker
from autopilot.daemon.store.leases import LIVE_PUBLICATION, LIVE_RUN
from autopilot.daemon.store.mapping import to_ticket
from autopilot.daemon.store.prepared import Prepared
from autopilot.daemon.store.rows import HoldChanges
from autopilot.daemon.store.spend import note_spend
from autopilot.daemon.store.tables import TICKETS
from autopilot.daemon.store.tables_host import (
    FIRINGS,
    HOLDS,
    IS_OPEN_DRAFT,
    PUBLICATIONS,
    SWITCH,
)
from autopilot.daemon.store.unit import Unit, in_one
from autopilot.schemas.errors import StaleTransitionError
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement

    from autopilot.daemon.store.engine import Store
    from autopilot.daemon.store.rows import Breaker, OffMode, PrState, Switch
    from autopilot.schemas.ticket import Hold, Ticket

_ASK_TO_CANCEL = Prepared(
    lambda: (
        update(TICKETS)
        .where(
            TICKETS.c.short_id == bindparam("seen_short_id"),
            TICKETS.c.state.in_([literal_column("'running'"), literal_column("'publishing'")]),
            TICKETS.c.fence == bindparam("seen_fence"),
            TICKETS.c.claim_token == bindparam("seen_claim_token"),
        )
        .returning(*TICKETS.c)
    )
)
_TURN = Prepared(lambda: update(SWITCH))
_START_HOLD = Prepared(lambda: insert(HOLDS))
_END_HOLD = Prepared(
    lambda: delete(HOLDS).where(
        HOLDS.c.name == bindparam("seen_name"), HOLDS.c.scope == bindparam("seen_scope")
    )
)
_FIRED = Prepared(
    lambda: select(FIRINGS.c.schedule).where(
        FIRINGS.c.schedule == bindparam("schedule"), FIRINGS.c.nominal_ms == bindparam("nominal_ms")
    )
)
_FIRE = Prepared(lambda: insert(FIRINGS))


def record_process(
    store: Store, run_id: str, *, fence: int, pid: int, pid_started_ms: int, boot: str | None = None
) -> None:
    """Write down which process a live run is, and of which boot of the machine.

    Raises:
        StaleTransitionError: `run-ended`: the run is not live under this fence.
    """
    values = {"pid": pid, "pid_started_ms": pid_started_ms, "boot": boot}

    def work(unit: Unit) -> None:
        if LIVE_RUN.run(unit.conn, {**values, "seen_id": run_id, "seen_fence": fence}) != 1:
            what = f"{run_id} is not running under the fence {fence}"
            raise StaleTransitionError("run-ended", what, hint="look again")

    in_one(store, work)


def record_publisher(
    store: Store, publication_id: str, *, fence: int, pid: int, pid_started_ms: int, boot: str | None = None
) -> None:
    """Write down which process a live publication is, and of which boot of the machine.

    Raises:
        StaleTransitionError: `publication-ended`: it is not live under this fence.
    """
    values = {"pid": pid, "pid_started_ms": pid_started_ms, "boot": boot}

    def work(unit: Unit) -> None:
        if LIVE_PUBLICATION.run(unit.conn, {**values, "seen_id": publication_id, "seen_fence": fence}) != 1:
            what = f"publication {publication_id} is not running under the fence {fence}"
            raise StaleTransitionError("publication-ended", what, hint="look again")

    in_one(store, work)


def record_spend(store: Store, run_id: str, spent_micro_usd: int, *, fence: int) -> None:
    """Write down what a run has spent so far; only the largest amount ever told counts.

    Args:
        store: the store.
        run_id: the run.
        spent_micro_usd: cumulative micro-dollars.
        fence: the run's own fence.

    Raises:
        StaleTransitionError: `fence-old`: no run of that name has that fence.
    """
    with store.read() as conn:
        known = queries_runs.attempt(conn, run_id)
        if known is not None and known.fence == fence and spent_micro_usd <= known.spent_micro_usd:
            return  # most events tell nothing new; do not pay for a commit
    in_one(store, lambda unit: note_spend(unit, run_id, spent_micro_usd, fence=fence))


def record_pr_state(
    store: Store,
    publication_id: str,
    state: PrState,
    *,
    fence: int,
    by: str = "daemon",
    only_if_open: bool = False,
) -> bool:
    """Write down what became of a draft; one that is merged or closed no longer counts as review load.

    Args:
        store: the store.
        publication_id: the draft's publication.
        state: what it is now.
        fence: of the try that delivered it, as it was seen.
        by: who says so.
        only_if_open: leave it alone when somebody has settled it meanwhile.

    Returns:
        Whether this changed anything.

    Raises:
        StaleTransitionError: `publication-changed`: another try was begun since.
    """
    changes = PUBLICATIONS.c.pr_state.is_distinct_from(state)

    def work(unit: Unit) -> bool:
        mine = _is_publication(publication_id, fence)
        if unit.conn.execute(select(PUBLICATIONS.c.id).where(mine)).first() is None:
            what = f"publication {publication_id} is no longer the one of the fence {fence}"
            raise StaleTransitionError("publication-changed", what, hint="look again")
        wanted = mine & (IS_OPEN_DRAFT if only_if_open else changes)
        if unit.conn.execute(update(PUBLICATIONS).where(wanted).values(pr_state=state)).rowcount == 0:
            return False
        unit.note(Event.DRAFT_SETTLED, publication=publication_id, state=state, by=by)
        return True

    return in_one(store, work)


def request_cancel(store: Store, seen: Ticket, *, by: str) -> Ticket:
    """Ask for the end of a ticket that is running or being published; the daemon makes the move.

    Raises:
        StaleTransitionError: `ticket-changed`: it is neither, or no longer under the claim as seen.
    """

    def work(unit: Unit) -> Ticket:
        mine = {
            "seen_short_id": seen.short_id,
            "seen_fence": seen.fence,
            "seen_claim_token": seen.claim_token,
        }
        row = _ASK_TO_CANCEL.row(unit.conn, {**mine, "cancel_requested": True, "updated_ms": unit.now_ms})
        if row is None:
            raise StaleTransitionError("ticket-changed", f"{seen.id} is no longer at work as it was seen")
        unit.note(Event.TICKET_MOVED, ticket=seen.id, trigger="cancel-request", by=by)
        return to_ticket(row)

    return in_one(store, work)


def turn_on(store: Store, *, by: str, ignore_window: bool = False, until_ms: int | None = None) -> Switch:
    """Let runs start: in the nightly window, or at once; for ever, or until a moment (UTC epoch ms)."""
    values = {"is_on": True, "ignore_window": ignore_window, "until_ms": until_ms, "drain_until_ms": None}
    return _turn(store, {**values, "off_mode": "finish", "by": by})


def turn_off(store: Store, *, by: str, mode: OffMode = "finish", drain_until_ms: int | None = None) -> Switch:
    """Let no run start; running ones finish, or may until a moment (UTC epoch ms), or are stopped now."""
    values = {"is_on": False, "ignore_window": False, "until_ms": None, "drain_until_ms": drain_until_ms}
    return _turn(store, {**values, "off_mode": mode, "by": by})


def _turn(store: Store, values: dict[str, object]) -> Switch:
    def work(unit: Unit) -> Switch:
        _TURN.run(unit.conn, {"changed_ms": unit.now_ms, **values})
        turned = queries_host.switch(unit.conn)
        unit.note(Event.SWITCH_TURNED, is_on=turned.is_on, by=turned.by, until_ms=turned.until_ms)
        return turned

    return in_one(store, work)


def reset_breaker(store: Store, scope: str, *, by: str) -> Breaker:
    """Close a breaker because a person mended the cause."""

    def work(unit: Unit) -> Breaker:
        closed = rule.reset(queries_host.breaker(unit.conn, scope))
        keep_breaker(unit.conn, closed)
        unit.note(Event.BREAKER_CLOSED, scope=scope, by=by)
        return closed

    return in_one(store, work)


def sync_holds(store: Store, holds: Sequence[Hold]) -> HoldChanges:
    """Make the standing holds these, keeping since when one stands; writes only what changed.

    Those that ended are kept as such: a digest tells of them.
    """
    with store.read() as conn:
        standing = {(hold.name, hold.scope): hold for hold in queries_host.holds(conn)}
    wanted: dict[tuple[str, str], Hold] = {}
    for hold in holds:
        wanted.setdefault((hold.name, hold.scope), hold)
    started = tuple(hold for key, hold in wanted.items() if key not in standing)
    ended = tuple(hold for key, hold in standing.items() if key not in wanted)
    changed = [
        again
        for key, hold in wanted.items()
        if key in standing
        and (again := hold.model_copy(update={"since_ms": standing[key].since_ms})) != standing[key]
    ]

    def work(unit: Unit) -> None:
        over = [{"seen_name": hold.name, "seen_scope": hold.scope} for hold in (*ended, *changed)]
        _END_HOLD.run_many(unit.conn, over)
        _START_HOLD.run_many(unit.conn, [hold.model_dump() for hold in (*started, *changed)])
        for hold in started:
            unit.note(Event.HOLD_STARTED, hold=hold.name, scope=hold.scope, cause=hold.cause)
        for hold in ended:
            past_holds.keep(unit, hold)
            unit.note(Event.HOLD_ENDED, hold=hold.name, scope=hold.scope)

    if started or ended or changed:
        in_one(store, work)
    return HoldChanges(started, ended)


def fire(unit: Unit, schedule: str, nominal_ms: int) -> bool:
    """Enter that a schedule fires for an instant (UTC epoch ms); True for exactly one caller."""
    mine = {"schedule": schedule, "nominal_ms": nominal_ms}
    if _FIRED.row(unit.conn, mine) is not None:
        return False
    _FIRE.run(unit.conn, {**mine, "fired_ms": unit.now_ms})
    return True


def _is_publication(publication_id: str, fence: int) -> ColumnElement[bool]:
    return (PUBLICATIONS.c.id == publication_id) & (PUBLICATIONS.c.fence == fence)
