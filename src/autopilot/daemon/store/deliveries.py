"""What goes out through channels, each once: what waits, what is under way, and how each ended.

Must not say what follows from an end: `delivery/rounds.py` does. A row is changed only from the state it was
seen in.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import and_, bindparam, insert, literal_column, select, update

from autopilot.daemon.store.mapping import to_publication
from autopilot.daemon.store.prepared import Prepared
from autopilot.daemon.store.tables_host import DELIVERIES, PUBLICATIONS
from autopilot.daemon.store.unit import Unit, in_one
from autopilot.schemas.errors import StaleTransitionError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from autopilot.daemon.store.engine import Store
    from autopilot.daemon.store.rows import Publication
    from autopilot.schemas.delivery import DeliveryKind

EndState = Literal["sent", "refused", "failed", "unsure"]
DeliveryState = Literal["waiting", "sending"] | EndState

_COLUMNS = (
    *("id", "subject", "channel", "kind", "ticket", "text", "state", "tries"),
    *("not_before_ms", "code", "reason", "hint", "created_ms", "started_ms", "ended_ms"),
)
_SELECT = select(*(DELIVERIES.c[name] for name in _COLUMNS))
_IS_OPEN = DELIVERIES.c.ended_ms.is_(None)
_OPEN = Prepared(lambda: _SELECT.where(_IS_OPEN).order_by(DELIVERIES.c.not_before_ms, DELIVERIES.c.id))
_ENDED = Prepared(
    lambda: _SELECT.where(DELIVERIES.c.ended_ms >= bindparam("since_ms")).order_by(DELIVERIES.c.ended_ms)
)
_KNOWN = Prepared(
    lambda: select(DELIVERIES.c.id).where(
        DELIVERIES.c.subject == bindparam("subject"), DELIVERIES.c.channel == bindparam("channel")
    )
)
_OPENED_DRAFTS = Prepared(
    lambda: (
        select(PUBLICATIONS)
        .where(
            PUBLICATIONS.c.finished_ms >= bindparam("since_ms"),
            PUBLICATIONS.c.state == literal_column("'done'"),
            PUBLICATIONS.c.pr_number.is_not(None),
        )
        .order_by(PUBLICATIONS.c.finished_ms, PUBLICATIONS.c.id)
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One text on its way through one channel. Moments are UTC epoch ms."""

    id: int
    subject: str
    """What it is known by, with the channel: `digest 2026-12-01`, `draft <publication>`."""
    channel: str
    kind: DeliveryKind
    ticket: str | None
    text: str
    state: DeliveryState
    tries: int
    not_before_ms: int
    code: str
    reason: str
    hint: str
    created_ms: int
    started_ms: int | None
    ended_ms: int | None

    def shown(self) -> dict[str, Any]:
        """Give it as plain values, without its text."""
        values = asdict(self)
        del values["text"]
        return values


def enqueue(
    unit: Unit, subject: str, channel: str, *, kind: DeliveryKind, text: str, ticket: str | None = None
) -> bool:
    """Let it wait for its turn; False when it is known already, however it ended."""
    if _KNOWN.row(unit.conn, {"subject": subject, "channel": channel}) is not None:
        return False
    values = {"subject": subject, "channel": channel, "kind": kind, "text": text, "ticket": ticket}
    times = {"not_before_ms": unit.now_ms, "created_ms": unit.now_ms}
    unit.conn.execute(insert(DELIVERIES).values(state="waiting", **values, **times))
    return True


def begin(store: Store, seen: Delivery) -> Delivery:
    """Write down that it is about to be sent, before anything is.

    Raises:
        StaleTransitionError: it is not waiting any more.
    """
    return in_one(
        store,
        lambda unit: _changed(unit, seen, state="sending", tries=seen.tries + 1, started_ms=unit.now_ms),
    )


def put_off(store: Store, seen: Delivery, *, not_before_ms: int, code: str, reason: str) -> Delivery:
    """Let it wait again: nothing of it was sent, for certain.

    Raises:
        StaleTransitionError: it is not under way any more.
    """
    values = {"not_before_ms": not_before_ms, "code": code, "reason": reason}
    return in_one(store, lambda unit: _changed(unit, seen, state="waiting", **values))


def end(
    store: Store,
    seen: Delivery,
    state: EndState,
    *,
    code: str,
    reason: str,
    hint: str = "",
) -> Delivery:
    """Write down how it ended: it is never sent again.

    Raises:
        StaleTransitionError: it is in another state meanwhile.
    """
    values = {"code": code, "reason": reason, "hint": hint}
    return in_one(store, lambda unit: _changed(unit, seen, state=state, ended_ms=unit.now_ms, **values))


def unfinished(conn: Connection) -> tuple[Delivery, ...]:
    """Give what waits or is under way, the first due first."""
    return tuple(Delivery(**row) for row in _OPEN.rows(conn))


def ended_since(conn: Connection, since_ms: int) -> tuple[Delivery, ...]:
    """Give what came to an end after a moment (UTC epoch ms), the oldest first."""
    return tuple(Delivery(**row) for row in _ENDED.rows(conn, {"since_ms": since_ms}))


def untold(conn: Connection, since_ms: int) -> tuple[Delivery, ...]:
    """Give what a person should know of: all that is on its way, and what ended after a moment unsent."""
    ended = (one for one in ended_since(conn, since_ms) if one.state != "sent")
    return (*ended, *unfinished(conn))


def opened_drafts(conn: Connection, since_ms: int) -> tuple[Publication, ...]:
    """Give the publications that ended with an open draft after a moment (UTC epoch ms)."""
    return tuple(map(to_publication, _OPENED_DRAFTS.rows(conn, {"since_ms": since_ms})))


def is_known(conn: Connection, subject: str, channel: str) -> bool:
    """Tell whether it was ever to go out through this channel."""
    return _KNOWN.row(conn, {"subject": subject, "channel": channel}) is not None


def _changed(unit: Unit, seen: Delivery, **values: object) -> Delivery:
    mine = and_(
        DELIVERIES.c.id == seen.id, DELIVERIES.c.state == seen.state, DELIVERIES.c.tries == seen.tries
    )
    if unit.conn.execute(update(DELIVERIES).where(mine).values(**values)).rowcount != 1:
        raise StaleTransitionError("delivery-stale", f"delivery {seen.id} is {seen.state} no more")
    return Delivery(**unit.conn.execute(_SELECT.where(DELIVERIES.c.id == seen.id)).mappings().one())
