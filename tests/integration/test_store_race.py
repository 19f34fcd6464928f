"""Eight processes on one database: nothing is claimed twice, lost, or spent beyond the ceiling."""

from __future__ import annotations

import multiprocessing
import sqlite3
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.daemon.store import queries_host, queries_tickets
from autopilot.daemon.store.engine import Store
from autopilot.schemas.machine import State
from tests.support import queue, racer
from tests.support.in_order import assert_in_order
from tests.support.queue import ROOMY
from tests.support.wait import wait_until
from tests.support.words import USD


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    """Eight processes that have imported everything before the first race."""
    with ProcessPoolExecutor(racer.RACERS, multiprocessing.get_context("spawn")) as executor:
        yield executor


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = queue.new_store(tmp_path, SystemClock())
    yield opened
    assert_in_order(opened)
    opened.check()
    opened.close()


def counts(store: Store) -> dict[State, int]:
    with store.read() as conn:
        return {state: number for state, number in queries_tickets.counts(conn).items() if number}


@pytest.mark.field_report("DMN-007")
@pytest.mark.covers("B17")
def test_dmn_007_fifty_due_tickets_are_claimed_once_each(store: Store, pool: Executor) -> None:
    for _ in range(50):
        queue.add(store)
    laps = racer.race(pool, store.database, racer.claim_all)
    claimed = Counter(ticket for lap in laps for ticket in lap.claimed)
    assert [lap.errors for lap in laps] == [()] * racer.RACERS
    assert claimed == Counter(f"T-{number}" for number in range(1, 51))
    assert counts(store) == {State.RUNNING: 50}


@pytest.mark.field_report("DMN-008")
@pytest.mark.covers("B17")
def test_dmn_008_no_lock_error_reaches_a_caller_and_no_update_is_lost(store: Store, pool: Executor) -> None:
    for _ in range(80):
        queue.add(store)
    laps = racer.race(pool, store.database, racer.claim_and_finish)
    assert [lap.errors for lap in laps] == [()] * racer.RACERS
    assert sum(len(lap.claimed) for lap in laps) == 80
    assert counts(store) == {State.COMMITTED: 80}
    with store.read() as conn:
        spending = queries_host.spending(conn, store.clock.now_ms())
    assert (spending.settled_micro_usd, spending.reserved_micro_usd) == (80 * USD, 0)


@pytest.mark.field_report("DMN-008")
def test_dmn_008_a_read_that_turns_into_a_write_cannot_be_overtaken(store: Store) -> None:
    ticket = queue.add(store)
    with closing(sqlite3.connect(store.database, isolation_level=None, timeout=0)) as other:
        with store.write() as conn:
            seen = queries_tickets.ticket(conn, ticket.id)
            assert seen is not None
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("UPDATE tickets SET priority = 0")
            assert queries_tickets.ticket(conn, ticket.id) == seen
        other.execute("UPDATE tickets SET priority = 0")
    assert queue.look(store, ticket.id).priority == 0


@pytest.mark.covers("F01")
def test_eight_claimers_never_reserve_beyond_the_ceiling(store: Store, pool: Executor) -> None:
    rules = replace(ROOMY, cost_ceiling_micro_usd=52 * USD, stop_launching_percent=100)
    for _ in range(40):
        queue.add(store)
    laps = racer.race(pool, store.database, racer.claim_all, rules)
    assert sum(len(lap.claimed) for lap in laps) == 10  # ten reservations of five dollars, not eleven
    assert {hold for lap in laps for hold in lap.refused} == {"cost-ceiling"}


@pytest.mark.covers("F03")
def test_eight_claimers_never_start_more_than_the_cap(store: Store, pool: Executor) -> None:
    for number in range(40):
        queue.add(store, repo=f"repo-{number % 4}")
    rules = replace(ROOMY, max_parallel_agents=3, per_repo_parallel=1)
    laps = racer.race(pool, store.database, racer.claim_all, rules)
    assert {hold for lap in laps for hold in lap.refused} <= {"slots-full", "repo-busy"}
    with store.read() as conn:
        running = [ticket.repo for ticket in queries_tickets.tickets(conn, states={State.RUNNING})]
    assert len(running) <= 3
    assert len(set(running)) == len(running)


def test_the_same_twenty_sources_from_eight_processes_are_twenty_tickets(
    store: Store, pool: Executor
) -> None:
    laps = racer.race(pool, store.database, racer.enqueue_same)
    assert len({ticket for lap in laps for ticket in lap.claimed}) == 20
    assert counts(store) == {State.QUEUED: 20}


def test_eight_processes_that_find_no_database_make_one(tmp_path: Path, pool: Executor) -> None:
    database = tmp_path / "autopilot.db"
    laps = racer.race(pool, database, racer.enqueue_same)
    assert [lap.errors for lap in laps] == [()] * racer.RACERS
    assert len({ticket for lap in laps for ticket in lap.claimed}) == 20
    assert list(tmp_path.glob("*.new*")) == []


ORDER = {"queued": 0, "running": 1, "committed": 2}


def test_what_was_confirmed_before_a_kill_is_there_after_it(store: Store, tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    acks = [tmp_path / f"acks-{number}" for number in range(4)]
    workers = [spawn.Process(target=racer.toil, args=(store.database, file)) for file in acks]
    for worker in workers:
        worker.start()
    for number, (worker, file) in enumerate(zip(workers, acks, strict=True)):
        enough = 10 + 3 * number  # each at another moment
        wait_until(lambda: file.exists() and file.read_text().count("\n") >= enough, 60, "steps")  # noqa: B023
        worker.kill()
        worker.join()
    confirmed = [line.split() for file in acks for line in file.read_text().splitlines()]
    with store.read() as conn:
        states = {ticket.id: ticket.state.value for ticket in queries_tickets.tickets(conn)}
    assert len(confirmed) >= 40
    assert all(ORDER[states[ticket]] >= ORDER[state] for ticket, state in confirmed)
