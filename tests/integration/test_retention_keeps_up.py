"""What ten times a busy night brings in each day goes as fast as it came: the queue stops growing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from autopilot.daemon.clearing import MAX_STEPS
from autopilot.daemon.retention import Retention
from autopilot.daemon.store import retention as rows
from autopilot.daemon.store.engine import Store
from tests.support.past import DAY_S, clear, counts, staged

A_BUSY_NIGHT = 20
INGEST = 10 * A_BUSY_NIGHT
MOVES = 8
KEPT_DAYS = 60
"""The longest that `tests/support/past.py` keeps anything."""


def come_in(store: Store, day: int, now_ms: int) -> None:
    """So many tickets run and end in this moment, each with its moves and its money."""
    first = 1000 + day * INGEST
    with closing(sqlite3.connect(store.database)) as raw:
        raw.execute("PRAGMA synchronous=OFF")
        raw.execute(
            "WITH RECURSIVE many(n) AS (VALUES(0) UNION ALL SELECT n + 1 FROM many LIMIT ?)"
            " INSERT INTO tickets (short_id, state, title, body, acceptance, repo, priority, branch,"
            " created_ms, updated_ms)"
            " SELECT ? + n, 'failed', 'old', hex(randomblob(200)), '[]', 'shop', 2, 'b', ?, ? FROM many",
            (INGEST, first, now_ms, now_ms),
        )
        fresh = "FROM tickets WHERE short_id BETWEEN ? AND ?"
        span = (first, first + INGEST - 1)
        raw.execute(
            "WITH RECURSIVE many(n) AS (VALUES(0) UNION ALL SELECT n + 1 FROM many LIMIT ?)"
            " INSERT INTO history (ticket, trigger, from_state, to_state, at_ms, by, reason)"
            " SELECT short_id, 'retry', 'running', 'queued', updated_ms, 'x', hex(randomblob(50))"
            " FROM tickets, many WHERE short_id BETWEEN ? AND ?",
            (MOVES, *span),
        )
        raw.execute(
            "INSERT INTO attempts (run_id, ticket, no, session, agent, repo, fence, claim_token, state,"
            " started_ms, finished_ms, reserved_micro_usd, is_probe) SELECT 'T-' || short_id || '-a1-0',"
            f" short_id, 1, 1, 'scripted', 'shop', 1, 'x', 'finished', updated_ms, updated_ms, 1, 0 {fresh}",
            span,
        )
        raw.execute(
            "INSERT INTO ledger (run_id, ticket, kind, micro_usd, known, at_ms)"
            f" SELECT 'T-' || short_id || '-a1-0', short_id, 'settled', 0, 1, updated_ms {fresh}",
            span,
        )
        raw.commit()


@pytest.mark.slow
@pytest.mark.field_report("DMN-049")
def test_dmn_049_ten_times_a_busy_night_is_cleared_as_fast_as_it_comes_in(tmp_path: Path) -> None:
    """DMN-049: pruning was slower than what came in, and the file grew until no start was fast enough."""
    stage = staged(tmp_path, tickets_days=KEPT_DAYS)
    full, sizes, ticks = dict[str, int](), list[int](), list[int]()
    for day in range(KEPT_DAYS + 12):
        come_in(stage.store, day, stage.clock.now_ms())
        stage.clock.advance(DAY_S)
        ticks.append(clear(stage))
        if day >= KEPT_DAYS + 2:
            held = counts(stage.store)
            full = full or held
            assert held == full, f"day {day}: more is kept than the day before"
            stage.store.checkpoint(cut=True)
            sizes.append(stage.store.database.stat().st_size)
    assert full["tickets"] <= (KEPT_DAYS + 1) * INGEST
    assert full["history"] < full["tickets"] * MOVES, "moves are kept for half as long"
    assert max(sizes) <= sizes[0] * 1.05, "room is given back, or used again"
    most_rows = INGEST * (MOVES + 4) + (KEPT_DAYS + 1) * INGEST * 2
    least_a_tick = MAX_STEPS * 20  # a step removes or looks at no fewer, on however slow a machine
    assert max(ticks) <= len(rows.SWEEPS) + 2 + most_rows // least_a_tick, (
        "a day's clearing ends the same day"
    )
    assert Retention()(stage.shop) is not None
    stage.store.close()
