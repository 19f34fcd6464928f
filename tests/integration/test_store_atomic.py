"""State, reason and history are written together or not at all; a log line only after the commit."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from autopilot.config import logs
from autopilot.daemon.store.engine import Store
from autopilot.schemas.events import Event
from autopilot.schemas.run import Outcome
from tests.support import queue
from tests.support.clock import FakeClock

PARTS = {
    "the ticket": "BEFORE UPDATE ON tickets",
    "the history": "BEFORE INSERT ON history",
    "the attempt": "BEFORE UPDATE ON attempts",
    "the ledger": "BEFORE INSERT ON ledger",
    "the gates": "BEFORE INSERT ON gates",
}


def everything(store: Store) -> list[str]:
    with closing(sqlite3.connect(store.database)) as raw:
        return [line for line in raw.iterdump() if "CREATE TRIGGER" not in line]


@pytest.mark.field_report("DMN-041")
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS.keys())
def test_dmn_041_a_park_of_which_one_part_cannot_be_written_is_not_written_at_all(
    store: Store, clock: FakeClock, tmp_path: Path, part: str
) -> None:
    claimed = queue.claim(store, queue.add(store))
    red = queue.result(claimed, Outcome.GATES_FAILED, gates=queue.gates())
    with closing(sqlite3.connect(store.database)) as raw:
        raw.execute(f"CREATE TRIGGER trouble {part} BEGIN SELECT RAISE(ABORT, 'no'); END")
    before = everything(store)
    logs.setup(tmp_path / "logs", clock=clock, stderr=False, level="info", max_size_mib=1, keep_files=1)
    with pytest.raises(Exception, match="no"):
        queue.end(store, claimed, red)
    assert everything(store) == before
    with closing(sqlite3.connect(store.database)) as raw:
        raw.execute("DROP TRIGGER trouble")
    parked = queue.end(store, claimed, red)
    lines = map(json.loads, (tmp_path / "logs" / "autopilot.jsonl").read_text().splitlines())
    told = [line["reason"] for line in lines if line["event"] == Event.TICKET_PARKED]
    assert told == [f"breaker: {parked.reason}"]
