"""A past of years is cleared while others write: in short steps, and its room is given back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Event

import pytest
from sqlalchemy import Connection

from autopilot.config.clock import SystemClock
from autopilot.daemon.clearing import MAX_STEPS, ROWS_MOST
from autopilot.daemon.retention import PAUSE_MS, Retention
from autopilot.daemon.shop import Shop
from autopilot.daemon.store import retention as rows
from autopilot.daemon.store.engine import Store, open_store
from tests.support import queue
from tests.support.past import counts, seed, staged
from tests.support.shop import Stage

Sweep = Callable[[Connection, rows.Cutoffs, rows.Cursor, int], rows.Batch]


class Steps:
    """Counts what each transaction of the clearing removes, and how many of them a tick makes."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.removed: list[int] = []
        patch.setattr(rows, "SWEEPS", tuple(map(self._counting, rows.SWEEPS)))

    def _counting(self, sweep: Sweep) -> Sweep:
        def step(conn: Connection, cutoffs: rows.Cutoffs, cursor: rows.Cursor, limit: int) -> rows.Batch:
            batch = sweep(conn, cutoffs, cursor, limit)
            assert limit <= ROWS_MOST
            self.removed.append(batch.removed)
            return batch

        return step


def cleared_beside_a_writer(folder: Path, tickets: int, moves: int, steps: Steps) -> tuple[int, int]:
    """Clear a large past in bounded steps, beside a writer; gives the sizes before and after."""
    stage = staged(folder)
    seed(stage.store, tickets, moves)
    stage.store.close()
    clock = SystemClock()
    store = open_store(stage.paths.database, clock, role="daemon")
    shop = chore_shop(stage, store)
    with closing(sqlite3.connect(store.database)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size_before = store.database.stat().st_size
    retained, is_over = Retention(), Event()
    with ThreadPoolExecutor(1) as pool:
        added = pool.submit(write_until, is_over, store.database)
        try:
            for _ in range(100_000):
                before = len(steps.removed)
                due_ms = retained(shop)
                assert len(steps.removed) - before <= MAX_STEPS, "the daemon does something else between"
                assert due_ms is not None
                if due_ms > clock.now_ms() + 10 * PAUSE_MS:
                    break
        finally:
            is_over.set()
        assert added.result(), "every add succeeded, and there was one"
    left = counts(store)
    assert left["history"] == left["tickets"] - tickets, "only the moves of new tickets are left"
    assert left["ledger"] == 0
    with closing(sqlite3.connect(store.database)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.check()
    store.close()
    assert max(steps.removed) <= 2 * ROWS_MOST, "what one transaction removes, others wait for"
    return size_before, store.database.stat().st_size


def write_until(is_over: Event, database: Path) -> int:
    """Add tickets on a thread and a connection of its own, beside the clearing; each must succeed."""
    with closing(open_store(database, SystemClock(), busy_ms=1000)) as writer:
        for number in count(1):
            queue.add(writer, "Meanwhile", repo="shop")
            if is_over.wait(PAUSE_MS / 1000):
                return number
    raise AssertionError


def chore_shop(stage: Stage, store: Store) -> Shop:
    return replace(stage.shop, store=store, clock=store.clock)


@pytest.mark.field_report("DMN-048")
@pytest.mark.field_report("DMN-049")
def test_dmn_048_a_large_past_is_cleared_in_short_steps_and_its_room_is_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = cleared_beside_a_writer(tmp_path, 300, 60, Steps(monkeypatch))
    assert after < before / 2, (before, after)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.field_report("DMN-048")
@pytest.mark.field_report("DMN-049")
def test_dmn_049_a_million_moves_and_fifty_thousand_runs_are_cleared_while_others_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = cleared_beside_a_writer(tmp_path, 50_000, 20, Steps(monkeypatch))
    assert after < before / 3, (before, after)
