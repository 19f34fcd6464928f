"""Publications: started before anything is pushed, ended with everything the publisher told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, select, update

from autopilot.daemon.store.mapping import to_publication
from autopilot.daemon.store.prepared import Prepared
from autopilot.daemon.store.settle import keep_gates
from autopilot.daemon.store.tables_host import IS_LIVE_PUBLICATION, PUBLICATIONS
from autopilot.schemas.errors import StaleTransitionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.daemon.store.rows import Publication, PublicationState
    from autopilot.daemon.store.unit import Unit
    from autopilot.schemas.publication import PublishVerdict
    from autopilot.schemas.ticket import Ticket

# What an UPDATE sets is named by the parameters.
_IS_OF_COMMIT = (
    PUBLICATIONS.c.ticket == bindparam("seen_ticket"),
    PUBLICATIONS.c.head == bindparam("seen_head"),
)
_FIND = Prepared(lambda: select(PUBLICATIONS).where(*_IS_OF_COMMIT))
_BEGIN = Prepared(lambda: insert(PUBLICATIONS))
_BEGIN_AGAIN = Prepared(
    lambda: update(PUBLICATIONS).where(*_IS_OF_COMMIT).values(tries=PUBLICATIONS.c.tries + 1)
)
_IS_LIVE = (
    PUBLICATIONS.c.ticket == bindparam("seen_ticket"),
    PUBLICATIONS.c.fence == bindparam("seen_fence"),
    IS_LIVE_PUBLICATION,
)
_LIVE = Prepared(lambda: select(PUBLICATIONS).where(*_IS_LIVE))
_END = Prepared(lambda: update(PUBLICATIONS).where(PUBLICATIONS.c.id == bindparam("seen_id"), *_IS_LIVE))
_LOSE = Prepared(
    lambda: (
        update(PUBLICATIONS)
        .where(PUBLICATIONS.c.id == bindparam("seen_id"), *_IS_LIVE)
        .values(losses=PUBLICATIONS.c.losses + 1)
    )
)
_LAST_PUSHED = Prepared(
    lambda: (
        select(PUBLICATIONS.c.pushed)
        .where(PUBLICATIONS.c.ticket == bindparam("seen_ticket"), PUBLICATIONS.c.pushed.is_not(None))
        .order_by(PUBLICATIONS.c.finished_ms.desc())
        .limit(1)
    )
)


def start_publication(unit: Unit, values: Mapping[str, Any]) -> Publication:
    """Start the publication of a commit, or start it again."""
    mine = {"seen_ticket": values["ticket"], "seen_head": values["head"]}
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
    if not _BEGIN_AGAIN.run(unit.conn, {**changes, **mine}):
        _BEGIN.run(unit.conn, {**values, **changes, "tries": 1, "created_ms": unit.now_ms})
    (row,) = _FIND.rows(unit.conn, mine)
    return to_publication(row)


def end_publication(
    unit: Unit, seen: Ticket, verdict: PublishVerdict | None, *, state: PublicationState
) -> None:
    """End the running publication of a ticket with its verdict; without one, the publisher was lost.

    Raises:
        StaleTransitionError: `verdict-old`: the verdict is of another publication or another try, or none is
            running under the fence as seen.
    """
    mine = {"seen_ticket": seen.short_id, "seen_fence": seen.fence}
    row = _LIVE.row(unit.conn, mine)
    if row is None or (verdict is not None and not _is_of(verdict, row["id"], row["fence"])):
        whose = "a lost publisher" if verdict is None else verdict.id
        raise StaleTransitionError(
            "verdict-old", f"{whose} is not the running publication of {seen.id}", hint="look again"
        )
    ended = {**mine, "seen_id": row["id"], "state": state, "finished_ms": unit.now_ms}
    if verdict is None:
        _LOSE.run(unit.conn, ended)
    else:
        _END.run(unit.conn, {**ended, **_told(verdict)})
        keep_gates(unit, seen.short_id, row["run_id"], verdict.gates)


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
    found: str | None = _LAST_PUSHED.scalar(unit.conn, {"seen_ticket": short_id})
    return found
