"""What is told of a child while it lives, written down: its spend so far, and whether it has a sleep lock.

Must not decide anything by it: the run's end does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from autopilot.daemon.inbox import LockTried, Spent
from autopilot.daemon.store import nights, writes
from autopilot.schemas.errors import StaleTransitionError

if TYPE_CHECKING:
    from autopilot.daemon.shop import Shop

RUN = "run"
"""The name under which the lock beside the latest child is kept."""


def write_down(shop: Shop, message: Spent | LockTried) -> None:
    """Write it down; the spend of a run that has ended meanwhile was settled with its result."""
    match message:
        case Spent():
            try:
                writes.record_spend(shop.store, message.run_id, message.cost_micro_usd, fence=message.fence)
            except StaleTransitionError:
                return
        case LockTried():
            nights.note_lock(
                shop.store, RUN, kind=message.kind, warning=message.warning, detail=message.detail
            )
        case _:
            assert_never(message)
