"""One ticket that may start is claimed and started.

Must not weigh reasons: the claim checks again in its own transaction, and names what it was refused for.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from autopilot.daemon import running, transitions
from autopilot.daemon.store import steps
from autopilot.daemon.store.rows import ClaimRefused
from autopilot.runner.agents.registry import own_variables
from autopilot.schemas.errors import ConfigError, StaleTransitionError
from autopilot.schemas.ticket import Hold

if TYPE_CHECKING:
    from autopilot.daemon.admission import Demand
    from autopilot.daemon.shop import Shop


def get_ready(shop: Shop, chosen: Demand) -> None:
    """Import what its launch takes of its agent, before anything is claimed: it may not be there."""
    with suppress(ConfigError):  # the start itself tells of it
        own_variables(shop.settings.agent(chosen.agent))


def start(shop: Shop, chosen: Demand, refused: list[Hold]) -> None:
    """Claim it and start its run; what refused the claim is added to the holds."""
    try:
        claim = transitions.claim(
            shop.store, chosen.ticket, agent=chosen.agent, rules=shop.rules, account=chosen.account
        )
    except StaleTransitionError as stale:
        if stale.code == transitions.CLOCK_SET:
            steps.follow(shop.store)
        raise
    if isinstance(claim, ClaimRefused):
        cure, now_ms = f"see: autopilot why {chosen.ticket.id}", chosen.host.now_ms
        refused.append(
            Hold(name=claim.hold, scope=claim.scope, cause=claim.cause, since_ms=now_ms, cure=cure)
        )
        return
    running.start(shop, claim)
