"""Renews the leases of live runs and publications, all in one transaction.

Must not end or release anything: on this machine the process decides, and a lease that ran out only says that
nobody has looked after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import bindparam, update

from autopilot.daemon.store.prepared import Prepared
from autopilot.daemon.store.tables import ATTEMPTS, IS_LIVE_RUN
from autopilot.daemon.store.tables_host import IS_LIVE_PUBLICATION, PUBLICATIONS
from autopilot.daemon.store.unit import Unit, in_one

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.daemon.store.engine import Store

# What they set is named by the parameters.
LIVE_RUN = Prepared(
    lambda: update(ATTEMPTS).where(
        ATTEMPTS.c.run_id == bindparam("seen_id"), ATTEMPTS.c.fence == bindparam("seen_fence"), IS_LIVE_RUN
    )
)
LIVE_PUBLICATION = Prepared(
    lambda: update(PUBLICATIONS).where(
        PUBLICATIONS.c.id == bindparam("seen_id"),
        PUBLICATIONS.c.fence == bindparam("seen_fence"),
        IS_LIVE_PUBLICATION,
    )
)


def renew(store: Store, held: Mapping[str, int], *, lease_ms: int) -> frozenset[str]:
    """Promise each claim for another `lease_ms` from now.

    Args:
        store: the store.
        held: the fence under which each run or publication is worked on, by its id.
        lease_ms: milliseconds.

    Returns:
        Those that were renewed. The claim of any other has ended, or is another's by now.
    """

    def work(unit: Unit) -> frozenset[str]:
        until = {"lease_until_ms": unit.now_ms + lease_ms}
        return frozenset(
            key
            for key, fence in held.items()
            for each in (LIVE_RUN, LIVE_PUBLICATION)
            if each.run(unit.conn, {**until, "seen_id": key, "seen_fence": fence})
        )

    return in_one(store, work) if held else frozenset()
