"""No statement of a tick or of the digest reads a table from its start to its end, however long the past."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from autopilot.daemon.digest import gather
from autopilot.daemon.loop import Loop
from autopilot.daemon.store import writes
from tests.support import queue, wire
from tests.support.past import seed
from tests.support.shop import Stage

GROWS = ("tickets", "history", "attempts", "ledger", "gates", "publications", "exchanges", "dependencies",
         "past_holds")  # fmt: skip
SMALL_INDEX = ("ix_tickets_queued", "ix_tickets_committed", "ux_attempts_running", "ux_publications_running",
               "ix_publications_open")  # fmt: skip
_SCAN = re.compile(r"^SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?")


def scans(database: Path, statements: list[str]) -> list[str]:
    """Name the statements that read a whole table which grows."""
    found = set()
    with closing(sqlite3.connect(database)) as raw:
        for statement in statements:
            if not statement.lstrip().upper().startswith(("SELECT", "UPDATE", "DELETE", "INSERT", "WITH")):
                continue
            for row in raw.execute(f"EXPLAIN QUERY PLAN {statement}"):
                match = _SCAN.match(row[3])
                if match and match[1] in GROWS and match[2] not in SMALL_INDEX:
                    found.add(f"{row[3]}: {' '.join(statement.split())}")
    return sorted(found)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Years of work behind, and a ticket in every state of the path ahead."""
    stage = Stage(tmp_path)
    writes.turn_on(stage.store, by="test", ignore_window=True)
    seed(stage.store, 2000, 3)
    for _ in range(4):
        queue.add(stage.store, repo="shop")
        queue.add(stage.store, repo="till")
    yield stage
    stage.store.close()


@pytest.mark.field_report("DMN-048")
def test_dmn_048_every_statement_of_a_tick_finds_its_rows_by_an_index(stage: Stage) -> None:
    loop = Loop(stage.shop)
    with wire.traced() as statements:
        loop.recover()
        loop.tick()
        for run in [spec.run_id for spec in stage.run_specs()]:
            ticket = run.split("-a")[0]
            stage.commit(ticket)
        loop.tick()
        loop.tick()
        stage.publish()
        loop.tick()
    assert len(statements) > 50
    assert scans(stage.store.database, statements) == []


@pytest.mark.field_report("DMN-048")
def test_dmn_048_the_digest_of_a_night_reads_that_night_and_not_the_years_before(stage: Stage) -> None:
    queue.publish(stage.store, queue.commit(stage.store, queue.look(stage.store, "T-3001")))
    with wire.traced() as statements:
        night = gather.night(stage.desk(), since_ms=stage.clock.now_ms() - 24 * 3_600_000)
    assert [draft.ticket.id for draft in night.drafts] == ["T-3001"]
    assert len(night.failed) == 0
    assert scans(stage.store.database, statements) == []


def test_a_digest_of_a_longer_time_holds_what_ended_in_it(stage: Stage) -> None:
    night = gather.night(stage.desk(), since_ms=0)
    assert len(night.failed) == 2000
