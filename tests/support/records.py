"""Reads whole tables, of which the product itself reads only parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import select

from autopilot.daemon.store.mapping import to_publication
from autopilot.daemon.store.prepared import named
from autopilot.daemon.store.tables_host import LEDGER, PUBLICATIONS
from autopilot.schemas.ids import ticket_id

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from autopilot.daemon.store.rows import Publication


class Entry(NamedTuple):
    """One entry of the money ledger: what was reserved, settled, or raised when more became known."""

    run_id: str
    ticket_id: str
    kind: str
    micro_usd: int


def ledger(conn: Connection) -> list[Entry]:
    """Give every entry, oldest first."""
    rows = conn.execute(select(LEDGER).order_by(LEDGER.c.id))
    return [Entry(row.run_id, ticket_id(row.ticket), row.kind, row.micro_usd) for row in rows]


def publications(conn: Connection) -> list[Publication]:
    """Give every publication, by its id."""
    return list(map(to_publication, named(conn.execute(select(PUBLICATIONS).order_by(PUBLICATIONS.c.id)))))
