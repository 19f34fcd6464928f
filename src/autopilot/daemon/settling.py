"""A person says what became of a draft, where the forge cannot show it.

Must not ask the forge, and must not change anything there.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from autopilot.daemon.store import queries_runs, queries_tickets, writes
from autopilot.schemas.errors import RefusedError, TicketError

if TYPE_CHECKING:
    from typing import Literal

    from autopilot.daemon.desk import Desk


def settle(
    desk: Desk, ticket_id: str, fate: Literal["closed", "merged"], *, by: str = "operator"
) -> dict[str, Any]:
    """Write down that a ticket's pull request is merged or closed; it is no review load any more.

    Raises:
        TicketError: no such ticket.
        RefusedError: nothing of the ticket was ever pushed.
    """
    with desk.store.read() as conn:
        ticket = queries_tickets.ticket(conn, ticket_id)
        if ticket is None:
            raise TicketError("ticket-unknown", f"there is no ticket {ticket_id}", hint="see: autopilot list")
        delivered = [one for one in queries_runs.publications_of(conn, ticket_id) if one.pushed or one.pr_url]
    if not delivered:
        what = f"{ticket_id} is {ticket.state}: nothing of it was pushed"
        raise RefusedError("nothing-to-settle", what, hint=f"see: autopilot why {ticket_id}")
    for one in delivered:
        writes.record_pr_state(desk.store, one.id, fate, fence=one.fence, by=by)
    settled = replace(delivered[-1], pr_state=fate)
    return {"ticket": ticket.model_dump(mode="json"), "publication": asdict(settled)}
