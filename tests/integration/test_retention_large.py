"""A past of years is cleared while others write: in short steps, and its room is given back."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.daemon.retention import PAUSE_MS, Retention
from autopilot.daemon.shop import Shop
from autopilot.daemon.store.engine import Store, open_store
from tests.support import queue
from tests.support.past import counts, seed, staged
from tests.support.shop import Stage


def slowest_add_s(writer: Store, times: int) -> float:
    """How long the slowest of so many commits takes while nothing else is done."""
    took_s = []
    for _ in range(times):
        started_s = time.monotonic()
        queue.add(writer, "Before", repo="shop")
        took_s.append(time.monotonic() - started_s)
    return max(took_s)


def cleared_beside_a_writer(folder: Path, tickets: int, moves: int) -> tuple[int, int]:
    """Clear a large past beside a writer, who must not wait for long; gives the sizes before and after."""
    stage = staged(folder)
    seed(stage.store, tickets, moves)
    stage.store.close()
    clock = SystemClock()
    store = open_store(stage.paths.database, clock, role="daemon")
    shop = chore_shop(stage, store)
    with closing(sqlite3.connect(store.database)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size_before = store.database.stat().st_size
    writer = open_store(store.database, clock)
    allowed_s = 1.0 + 5 * slowest_add_s(writer, 20)  # a disk that is busy with others is not our doing
    slowest_write_s = slowest_tick_s = 0.0
    retained = Retention()
    for tick in range(100_000):
        started_s = time.monotonic()
        due_ms = retained(shop)
        slowest_tick_s = max(slowest_tick_s, time.monotonic() - started_s)
        if tick % 10 == 0:
            started_s = time.monotonic()
            queue.add(writer, "Meanwhile", repo="shop")
            slowest_write_s = max(slowest_write_s, time.monotonic() - started_s)
        assert due_ms is not None
        if due_ms > clock.now_ms() + 10 * PAUSE_MS:
            break
    writer.close()
    left = counts(store)
    assert left["history"] == left["tickets"] - tickets, "only the moves of new tickets are left"
    assert left["ledger"] == 0
    with closing(sqlite3.connect(store.database)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.check()
    store.close()
    assert slowest_write_s < allowed_s
    assert slowest_tick_s < allowed_s
    return size_before, store.database.stat().st_size


def chore_shop(stage: Stage, store: Store) -> Shop:
    return replace(stage.shop, store=store, clock=store.clock)


@pytest.mark.field_report("DMN-048")
@pytest.mark.field_report("DMN-049")
def test_dmn_048_a_large_past_is_cleared_in_short_steps_and_its_room_is_given_back(tmp_path: Path) -> None:
    before, after = cleared_beside_a_writer(tmp_path, 300, 60)
    assert after < before / 2, (before, after)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.field_report("DMN-048")
@pytest.mark.field_report("DMN-049")
def test_dmn_049_a_million_moves_and_fifty_thousand_runs_are_cleared_while_others_write(
    tmp_path: Path,
) -> None:
    before, after = cleared_beside_a_writer(tmp_path, 50_000, 20)
    assert after < before / 3, (before, after)
