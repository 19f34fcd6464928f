"""A database that any released version wrote still loads, and its tickets go on from where they were."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path, PurePath

import pytest

from autopilot.daemon import transitions_publish
from autopilot.daemon.store import (
    deliveries,
    migrate,
    nights,
    past_holds,
    queries_host,
    queries_runs,
    queries_tickets,
)
from autopilot.daemon.store.engine import Store, open_store
from autopilot.daemon.store.rows import Claim
from autopilot.schemas.machine import State
from autopilot.schemas.publication import PublishOutcome
from tests.compat.samples import BACKUP, DELIVERY, FULL, SLEEP, STATES
from tests.support import queue, words
from tests.support.clock import FakeClock
from tests.support.in_order import assert_in_order
from tests.support.tree import ROOT

SAMPLES = sorted((ROOT / "tests" / "compat").glob("store-*.sql"))


def restored(sample: Path, folder: Path) -> Store:
    database = folder / "autopilot.db"
    with closing(sqlite3.connect(database)) as raw:
        raw.executescript(sample.read_text(encoding="utf-8"))
        raw.execute("PRAGMA journal_mode=WAL")
    clock = FakeClock()
    clock.advance(24 * 3600)
    return open_store(database, clock, role="daemon")


def test_every_schema_has_its_sample() -> None:
    assert [PurePath(sample).stem for sample in SAMPLES] == [f"store-{name}" for name in migrate.REVISIONS]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.stem)
def test_everything_in_an_old_database_can_be_read(sample: Path, tmp_path: Path) -> None:
    store = restored(sample, tmp_path)
    with store.read() as conn:
        assert {ticket.id: ticket.state for ticket in queries_tickets.tickets(conn)} == STATES
        assert queries_tickets.ticket(conn, "T-2") == queue.look(store, "T-2")
        assert [item.question for item in queries_tickets.exchanges(conn, "T-6")] == ["Blue?"]
        assert len(queries_runs.gates_of(conn, "T-1")) == 3
        facts = queries_host.facts(conn, store.clock.now_ms())
        assert [window.agent for window in facts.agent_windows] == ["limited"]
        assert [live.attempt.process for live in facts.running] == [(4711, 1)]
        assert queries_host.last_firing(conn, "digest") == 1
        assert [hold.name for hold in queries_host.holds(conn)] == ["slots-full"]
    assert_in_order(store)
    store.close()


@pytest.mark.parametrize("sample", SAMPLES[3:], ids=lambda sample: sample.stem)
def test_what_a_night_was_disturbed_by_can_be_read(sample: Path, tmp_path: Path) -> None:
    store = restored(sample, tmp_path)
    with store.read() as conn:
        assert nights.sleeps(conn, 0) == (SLEEP,)
        assert nights.schedules(conn) == (BACKUP,)
        assert [(lock.name, lock.warning) for lock in nights.locks(conn)] == [("run", "awake-no-bus")]
    store.close()


@pytest.mark.parametrize("sample", SAMPLES[4:], ids=lambda sample: sample.stem)
def test_what_was_to_go_out_can_be_read(sample: Path, tmp_path: Path) -> None:
    store = restored(sample, tmp_path)
    with store.read() as conn:
        (one,) = deliveries.unfinished(conn)
    assert (one.subject, one.channel, one.state, one.tries) == (*DELIVERY, "waiting", 0)
    assert deliveries.end(store, deliveries.begin(store, one), "sent", code="", reason="").state == "sent"
    store.close()


@pytest.mark.parametrize("sample", SAMPLES[5:], ids=lambda sample: sample.stem)
def test_what_held_the_queue_can_be_read(sample: Path, tmp_path: Path) -> None:
    store = restored(sample, tmp_path)
    with store.read() as conn:
        (one,) = past_holds.since(conn, 0)
    assert (one.name, one.scope, one.cause, one.since_ms) == (FULL.name, FULL.scope, FULL.cause, 1)
    assert (one.cure, one.times, one.held_ms) == (FULL.cure, 1, one.until_ms - 1)
    store.close()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.stem)
def test_the_tickets_of_an_old_database_go_on(sample: Path, tmp_path: Path) -> None:
    store = restored(sample, tmp_path)
    with store.read() as conn:
        (run,) = queries_runs.running(conn)
        (publication,) = queries_runs.publishing(conn)
    claimed = Claim(run.ticket, run.attempt)
    assert queue.end(store, claimed, queue.result(claimed)).state is State.COMMITTED
    told = queue.verdict(publication, PublishOutcome.PR_OPENED)
    assert queue.end_publish(store, publication, told).state is State.PUBLISHED
    transitions_publish.begin_publish(store, queue.look(store, "T-4"), base="main", base_sha=words.BASE)
    queue.claim(store, queue.look(store, "T-2"))
    assert queue.add(store, "New").id == "T-10"
    assert_in_order(store)
    store.close()
