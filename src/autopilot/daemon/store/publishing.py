"""Publications: started before anything is pushed, ended with everything the publisher told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from autopilot.daemon.store.mapping import to_publication
from autopilot.daemon.store.prepared import named
from autopilot.daemon.store.settle import keep_gates
from autopilot.daemon.store.tables_host import IS_LIVE_PUBLICATION, PUBLICATIONS
from autopilot.schemas.errors import StaleTransitionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.daemon.store.rows import Publication, PublicationState
    from autopilot.daemon.store.unit import Unit
    from autopilot.schemas.publication import PublishVerdict
    from autopilot.schemas.ticket import Ticket


def start_publication(unit: Unit, values: Mapping[str, Any]) -> Publication:
    """Start the publication of a commit, or start it again."""
    mine = (PUBLICATIONS.c.ticket == values["ticket"]) & (PUBLICATIONS.c.head == values["head"])
    changes = {
        "state": "running",
        "started_ms": unit.now_ms,
        "finished_ms": None,
        "pid": None,
        "pid_started_ms": None,
        "expected_remote_head": _last_pushed(unit, values["ticket"]),
        "fence": values["fence"],
        "lease_until_ms": values["lease_until_ms"],
    }
    again = update(PUBLICATIONS).where(mine).values(tries=PUBLICATIONS.c.tries + 1, **changes)
    if unit.conn.execute(again).rowcount == 0:
        unit.conn.execute(
            insert(PUBLICATIONS).values({**values, **changes, "tries": 1, "created_ms": unit.now_ms})
        )
    return to_publication(named(unit.conn.execute(select(PUBLICATIONS).where(mine)))[0])


def end_publication(
    unit: Unit, seen: Ticket, verdict: PublishVerdict | None, *, state: PublicationState
) -> None:
    """End the running publication of a ticket with its verdict; without one, the publisher was lost.

    Raises:
        StaleTransitionError: `verdict-old`: the verdict is of another publication or another try, or none is
            running under the fence as seen.
    """
    mine = (
        (PUBLICATIONS.c.ticket == seen.short_id) & (PUBLICATIONS.c.fence == seen.fence) & IS_LIVE_PUBLICATION
    )
    row = unit.conn.execute(select(PUBLICATIONS).where(mine)).one_or_none()
    if row is None or (verdict is not None and not _is_of(verdict, row.id, row.fence)):
        named = "a lost publisher" if verdict is None else verdict.id
        raise StaleTransitionError(
            "verdict-old", f"{named} is not the running publication of {seen.id}", hint="look again"
        )
    told = {"losses": PUBLICATIONS.c.losses + 1} if verdict is None else _told(verdict)
    unit.conn.execute(
        update(PUBLICATIONS)
        .where(PUBLICATIONS.c.id == row.id, mine)
        .values(state=state, finished_ms=unit.now_ms, **told)
    )
    if verdict is not None:
        keep_gates(unit, seen.short_id, row.run_id, verdict.gates)


def _is_of(verdict: PublishVerdict, publication_id: str, fence: int) -> bool:
    """Tell whether it is this publication's, and of this try; a publisher from before fences cannot say."""
    return verdict.id == publication_id and verdict.fence in {None, fence}


def _told(verdict: PublishVerdict) -> dict[str, Any]:
    told: dict[str, Any] = {
        "losses": 0,
        "outcome": verdict.outcome.value,
        "code": verdict.code,
        "message": verdict.message,
    }
    if verdict.pushed is not None:
        told["pushed"] = verdict.pushed
    if verdict.pr is not None:
        told |= {"pr_url": verdict.pr.url, "pr_number": verdict.pr.number, "pr_state": verdict.pr.state}
    return told


def _last_pushed(unit: Unit, short_id: int) -> str | None:
    """Give the commit that we pushed to the ticket's branch last; None when we never did."""
    pushed = (PUBLICATIONS.c.ticket == short_id) & PUBLICATIONS.c.pushed.is_not(None)
    newest = select(PUBLICATIONS.c.pushed).where(pushed).order_by(PUBLICATIONS.c.finished_ms.desc()).limit(1)
    found: str | None = unit.conn.execute(newest).scalar()
    return found
