"""Live work that no daemon has looked after for longer than its lease.

Must not decide anything: whether such a run still lives, the next daemon finds out by its process.
Source: docs/decisions/0056.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from autopilot.daemon.checkup.check import warning
from autopilot.daemon.store import queries_runs
from autopilot.daemon.store.engine import open_store
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.units import iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.schemas.checkup import Check

_CURE = "start the daemon (autopilot on), it takes them up; where one runs, its log says what it does instead"


def overdue(paths: Paths, clock: Clock) -> Iterator[Check]:
    """Name each such ticket, with the end of its lease; no line where all is in order."""
    if not paths.database.exists():
        return
    try:
        store = open_store(paths.database, clock)
        with closing(store), store.read() as conn:
            runs, publications = queries_runs.running(conn), queries_runs.publishing(conn)
    except AutopilotError:
        return  # the line of the database says so
    held = [(run.ticket.id, run.attempt.lease_until_ms) for run in runs]
    held += [(each.ticket.id, each.publication.lease_until_ms) for each in publications]
    late = [(name, until) for name, until in held if until is not None and until < clock.now_ms()]
    if late:
        told = ", ".join(f"{name} since {iso_utc(until)}" for name, until in late)
        yield warning("leases", f"nobody looks after what runs for {told}", _CURE)
