"""Makes rows readable again that no program of ours can have written: a hand in the file, a bit that fell.

One such row would otherwise keep every other ticket from being looked at. Asked only when reading has failed:
it walks all tickets. Must not move a ticket; what was wrong is told, and who asks parks it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import Text, cast, select, update

from autopilot.daemon.store import queries_tickets
from autopilot.daemon.store.tables import TICKETS
from autopilot.daemon.store.unit import in_one
from autopilot.schemas.ids import ticket_id
from autopilot.schemas.machine import WaitingFor
from autopilot.schemas.ticket import PRIORITY_DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection

    from autopilot.daemon.store.engine import Store
    from autopilot.daemon.store.unit import Unit

_SHOWN_CHARS = 80


def mend(store: Store) -> dict[str, str]:
    """Give every unreadable ticket readable values; tell for each what was wrong."""
    with store.read() as conn:  # nobody waits for it: as a rule there is nothing to write
        numbers = conn.execute(select(TICKETS.c.short_id)).scalars().all()
        wrong = [number for number in numbers if not _is_readable(conn, number)]
    return in_one(store, lambda unit: _mend(unit, wrong)) if wrong else {}


def _mend(unit: Unit, numbers: Sequence[int]) -> dict[str, str]:
    return {
        ticket_id(number): _mended(unit.conn, number)
        for number in numbers
        if not _is_readable(unit.conn, number)
    }


def _is_readable(conn: Connection, number: int) -> bool:
    try:
        queries_tickets.ticket(conn, ticket_id(number))
    except (ValueError, TypeError):
        return False
    return True


def _mended(conn: Connection, number: int) -> str:
    mine = TICKETS.c.short_id == number
    columns = {name: cast(TICKETS.c[name], Text) for name in _READERS}
    row = conn.execute(select(*columns.values()).where(mine)).one()
    raw = dict(zip(columns, row, strict=True))
    wrong = {name: value for name, value in raw.items() if not _reads(_READERS[name], value)}
    if wrong:
        safe = {name: _SAFE[name] for name in wrong}
        conn.execute(update(TICKETS).where(mine).values(safe))
    shown = ", ".join(f"{name} was {str(value)[:_SHOWN_CHARS]!r}" for name, value in wrong.items())
    return f"its record could not be read: {shown or 'a field of it is wrong'}"


def _reads(reader: Callable[[Any], object], value: str | None) -> bool:
    try:
        reader(value)
    except (ValueError, TypeError):
        return False
    return True


def _texts(value: str) -> None:
    found = json.loads(value)
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise ValueError


def _moment(value: str) -> None:
    if int(value) < 0:
        raise ValueError


def _waiting(value: str | None) -> None:
    if value is not None:
        WaitingFor(value)


_READERS: Mapping[str, Callable[[Any], object]] = {
    "acceptance": _texts,
    "waiting_for": _waiting,
    "priority": int,
    "created_ms": _moment,
    "updated_ms": _moment,
    "not_before_ms": _moment,
}
_SAFE: Mapping[str, object] = {
    "acceptance": [],
    "waiting_for": WaitingFor.CONFIGURATION.value,
    "priority": PRIORITY_DEFAULT,
    "created_ms": 0,
    "updated_ms": 0,
    "not_before_ms": 0,
}
