"""Renews the leases of live runs and publications, all in one transaction.

Must not end or release anything: on this machine the process decides, and a lease that ran out only says that
nobody has looked after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import tuple_, update

from autopilot.daemon.store.tables import ATTEMPTS, IS_LIVE_RUN
from autopilot.daemon.store.tables_host import IS_LIVE_PUBLICATION, PUBLICATIONS
from autopilot.daemon.store.unit import Unit, in_one

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.daemon.store.engine import Store


def renew(store: Store, held: Mapping[str, int], *, lease_ms: int) -> frozenset[str]:
    """Promise each claim for another `lease_ms` from now.

    Args:
        store: the store.
        held: the fence under which each run or publication is worked on, by its id.
        lease_ms: milliseconds.

    Returns:
        Those that were renewed. The claim of any other has ended, or is another's by now.
    """
    pairs = list(held.items())

    def work(unit: Unit) -> frozenset[str]:
        until = {"lease_until_ms": unit.now_ms + lease_ms}
        runs = tuple_(ATTEMPTS.c.run_id, ATTEMPTS.c.fence).in_(pairs)
        publications = tuple_(PUBLICATIONS.c.id, PUBLICATIONS.c.fence).in_(pairs)
        renewed = (
            update(ATTEMPTS).where(IS_LIVE_RUN, runs).values(until).returning(ATTEMPTS.c.run_id),
            update(PUBLICATIONS)
            .where(IS_LIVE_PUBLICATION, publications)
            .values(until)
            .returning(PUBLICATIONS.c.id),
        )
        return frozenset(key for each in renewed for key in unit.conn.execute(each).scalars())

    return in_one(store, work) if pairs else frozenset()
