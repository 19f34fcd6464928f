"""Makes the sample of a database: one ticket in every state, with everything that hangs on tickets.

`python -m tests.compat.samples FOLDER` writes `store-<schema>.sql`. Run it once for every released schema,
from the version that has it, and never again: the sample is what that version really wrote.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from autopilot.daemon import acts, transitions_publish
from autopilot.daemon.rules import Rules
from autopilot.daemon.store import deliveries, migrate, nights, writes
from autopilot.daemon.store.engine import Store
from autopilot.daemon.store.unit import Unit, in_one
from autopilot.schemas.machine import State
from autopilot.schemas.run import Outcome
from autopilot.schemas.ticket import Hold
from tests.support import queue, words
from tests.support.clock import FakeClock

STATES = {
    "T-1": State.PUBLISHED,
    "T-2": State.QUEUED,
    "T-3": State.RUNNING,
    "T-4": State.COMMITTED,
    "T-5": State.PUBLISHING,
    "T-6": State.PARKED,
    "T-7": State.FAILED,
    "T-8": State.CANCELLED,
    "T-9": State.QUEUED,
}
SLEEP = nights.Sleep(started_ms=1, slept_ms=3_600_000, lost_ms=60_000, runs=("T-3-a1-00000001",))
BACKUP = nights.LastTime(
    name="backup", due_ms=1, ended_ms=2, outcome="failed", detail="no room", next_ms=3_600_002
)
FULL = Hold(name="disk-low", scope="host", cause="1 GiB – zu wenig", since_ms=1, cure="free some")

DELIVERY = ("digest 2026-01-02", "team")


def fill(store: Store) -> None:
    """Bring one ticket into every state, as life does."""
    queue.publish(store, queue.commit(store, queue.add(store, "Published", source_key="o/r#1")))
    queue.add(store, "Wartet auf T-1 – später", depends_on=("T-1",), acceptance=("a", "b"), priority=0)
    running = queue.claim(store, queue.add(store, "Running", repo="busy"))
    writes.record_process(store, running.attempt.run_id, fence=1, pid=4711, pid_started_ms=1)
    writes.record_spend(store, running.attempt.run_id, 12_345, fence=1)
    queue.commit(store, queue.add(store, "Committed"))
    publishing = queue.commit(store, queue.add(store, "Publishing"))
    transitions_publish.begin_publish(store, publishing, base="main", base_sha=words.BASE)
    asked = queue.claim(store, queue.add(store, "Parked"))
    queue.end(store, asked, queue.result(asked, Outcome.ASKED, questions=("Blue?",)))
    failed = queue.claim(store, queue.add(store, "Failed"))
    once = Rules(attempts_per_ticket=1)
    queue.end(store, failed, queue.result(failed, Outcome.AGENT_FAILED), rules=once)
    acts.cancel(store, queue.add(store, "Cancelled").id, by="me")
    limited = queue.claim(store, queue.add(store, "Limited"), agent="limited")
    queue.end(store, limited, queue.result(limited, Outcome.USAGE_LIMIT))
    in_one(store, lambda unit: writes.fire(unit, "digest", 1))
    hold = Hold(name="slots-full", scope="host", cause="2 of 2", since_ms=1, cure="wait", clears_ms=None)
    writes.sync_holds(store, [FULL])
    writes.sync_holds(store, [hold])
    nights.record_sleep(store, SLEEP)
    in_one(store, lambda unit: nights.note_schedule(unit, BACKUP))
    nights.note_lock(store, "run", kind="none", warning="awake-no-bus", detail="no bus")
    in_one(store, deliver)


def deliver(unit: Unit) -> None:
    """Let a text wait for its channel."""
    deliveries.enqueue(unit, *DELIVERY, kind="digest", text="A quiet night – ruhig")


def main(folder: Path) -> None:
    """Write the sample of this program's schema."""
    with tempfile.TemporaryDirectory() as scratch:
        store = queue.new_store(Path(scratch), FakeClock())
        fill(store)
        store.close()
        with closing(sqlite3.connect(store.database)) as raw:
            dump = "\n".join(raw.iterdump())
    (folder / f"store-{migrate.HEAD}.sql").write_text(dump + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
