"""Admission: as many runs as may start now are started, and by which names the rest may not.

Must not weigh reasons itself: `admission.py` answers, and the claim (`claiming.py`) checks again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from autopilot.daemon import demand
from autopilot.daemon.admission import host_holds, ticket_holds
from autopilot.daemon.store import queries_tickets
from autopilot.schemas.ticket import Hold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sqlalchemy import Connection

    from autopilot.daemon.admission import Demand, HostDemand
    from autopilot.daemon.shop import Shop
    from autopilot.daemon.store.rows import Switch
    from autopilot.schemas.ticket import Ticket

    Guard = Callable[[Ticket, Callable[[], object]], None]

_AT_ONCE = 20
_PACING = frozenset({"launch-stagger", "check-up"})
"""Holds of a second or two: they set the next look, and nobody needs to read of them."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What keeps the queue from moving, and when that changes by itself (UTC epoch ms)."""

    holds: tuple[Hold, ...]
    next_ms: int | None


@dataclass(frozen=True, slots=True)
class _Search:
    """One walk along the queue: whom we asked about already, and what we heard."""

    asked: set[str]
    holds: list[Hold] = field(default_factory=list)
    repos: set[str] = field(default_factory=set)
    agents: set[str] = field(default_factory=set)

    def hear(self, holds: Iterable[Hold]) -> None:
        """Keep the reasons; a busy repository or agent is not asked about again."""
        for hold in holds:
            self.holds.append(hold)
            kind, _, name = hold.scope.partition(":")
            if kind == "repo":
                self.repos.add(name)
            elif kind == "agent":
                self.agents.add(name)


def launch_all(shop: Shop, *, guard: Guard, skip: Iterable[str] = ()) -> Outlook:
    """Start what may start.

    Args:
        shop: the place.
        guard: contains a fault of one ticket.
        skip: tickets that are left alone.
    """
    asked, refused = set(skip), list[Hold]()
    while True:
        chosen, outlook = _choose(shop, asked)
        if chosen is None:
            return Outlook((*refused, *outlook.holds), outlook.next_ms)
        asked.add(chosen.ticket.id)
        from autopilot.daemon import claiming  # noqa: PLC0415 - an idle daemon claims nothing

        claiming.get_ready(shop, chosen)
        guard(chosen.ticket, partial(claiming.start, shop, chosen, refused))


def next_free(shop: Shop, *, skip: Iterable[str] = ()) -> Demand | None:
    """Give the first ticket that may start now, without starting it; None when something keeps every one."""
    return _choose(shop, set(skip))[0]


def must_stop_running(switch: Switch, now_ms: int) -> bool:
    """Tell whether the operator wants running runs gone by now."""
    if switch.is_on or switch.off_mode == "finish":
        return False
    return switch.off_mode == "now" or switch.drain_until_ms is None or now_ms >= switch.drain_until_ms


def _choose(shop: Shop, asked: set[str]) -> tuple[Demand | None, Outlook]:
    """Give the first ticket in the queue's order that may start, else everything that keeps them."""
    now_ms = shop.now_ms()
    with shop.store.read() as conn:
        host = demand.host_demand(
            conn,
            settings=shop.settings,
            rules=shop.rules,
            state_dir=shop.paths.state,
            now_ms=now_ms,
            probed=shop.probed(),
        )
        search = _Search(set(asked))
        kept = host_holds(host)
        if kept:
            is_wanted = bool(_next_ones(conn, shop, search, now_ms))
            search.hear(kept if is_wanted else ())
        elif (chosen := _first_free(conn, shop, host, search)) is not None:
            return chosen, Outlook((), None)
        return None, _outlook(conn, host, every=(*search.holds, *kept), told=search.holds)


def _first_free(conn: Connection, shop: Shop, host: HostDemand, search: _Search) -> Demand | None:
    while fresh := _next_ones(conn, shop, search, host.now_ms):
        for ticket in fresh:
            search.asked.add(ticket.id)
            asking = demand.demand_of(conn, ticket, host=host, settings=shop.settings)
            found = ticket_holds(asking)
            if not found:
                return asking
            search.hear(found)
    return None


def _next_ones(conn: Connection, shop: Shop, search: _Search, now_ms: int) -> list[Ticket]:
    found = queries_tickets.candidates(
        conn,
        now_ms,
        default_agent=shop.settings.default_agent,
        limit=_AT_ONCE + len(search.asked),
        skip_repos=search.repos,
        skip_agents=search.agents,
    )
    return [ticket for ticket in found if ticket.id not in search.asked]


def _outlook(conn: Connection, host: HostDemand, *, every: Iterable[Hold], told: Iterable[Hold]) -> Outlook:
    now_ms = host.now_ms
    moments = [
        queries_tickets.next_due_ms(conn, now_ms),
        host.facts.switch.drain_until_ms,
        *(hold.clears_ms for hold in every),
    ]
    ahead = [moment for moment in moments if moment is not None and moment > now_ms]
    return Outlook(tuple(hold for hold in told if hold.name not in _PACING), min(ahead, default=None))
