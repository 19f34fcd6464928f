"""What has had its time goes, a little at a time; what somebody may still need stays."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from autopilot.daemon import acts, clearing
from autopilot.daemon.retention import PAUSE_MS, SCHEDULE, Retention
from autopilot.daemon.store import queries_host, queries_runs, queries_tickets, retention
from autopilot.daemon.store.engine import Store
from autopilot.schemas.errors import TransientError
from autopilot.schemas.machine import State
from autopilot.schemas.run import Outcome
from autopilot.schemas.units import MS_PER_S
from tests.support import queue
from tests.support.clock import FakeClock
from tests.support.in_order import assert_in_order
from tests.support.past import DAY_S, clear, counts, staged
from tests.support.shop import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = staged(tmp_path)
    yield stage
    stage.store.close()


def fill(store: Store) -> None:
    """T-1 published, T-2 failed, T-3 parked with a question, T-4 queued and waiting for T-2."""
    queue.publish(store, queue.commit(store, queue.add(store, "Published", repo="shop")))
    failing, asked = queue.add(store, "Failing", repo="shop"), queue.add(store, "Asked", repo="shop")
    claimed = queue.claim(store, asked)
    queue.end(store, claimed, queue.result(claimed, Outcome.ASKED, questions=("Blue?",)))
    while queue.look(store, failing.id).state is not State.FAILED:
        claimed = queue.claim(store, queue.look(store, failing.id))
        queue.end(store, claimed, queue.result(claimed, Outcome.AGENT_FAILED))
    queue.add(store, "Waits", repo="shop", depends_on=(failing.id,))


def test_details_of_tickets_that_ended_long_ago_go_and_tickets_and_sums_stay(stage: Stage) -> None:
    fill(stage.store)
    before = counts(stage.store)
    with stage.store.read() as conn:
        money = [ticket.spent_micro_usd for ticket in queries_tickets.tickets(conn)]
    stage.clock.advance(31 * DAY_S)
    clear(stage)
    after = counts(stage.store)
    assert (after["tickets"], after["attempts"], after["publications"]) == (
        before["tickets"],
        before["attempts"],
        before["publications"],
    )
    assert after["ledger"] == before["ledger"], "the ledger has a longer time of its own"
    assert after["gates"] < before["gates"]
    with stage.store.read() as conn:
        assert queries_tickets.history(conn, "T-1") == queries_tickets.history(conn, "T-2") == ()
        assert len(queries_tickets.history(conn, "T-3")) == 3, "it is parked: a person must act"
        assert len(queries_tickets.history(conn, "T-4")) == 1
        assert queries_runs.gates_of(conn, "T-1") == ()
        assert [ticket.spent_micro_usd for ticket in queries_tickets.tickets(conn)] == money
    stage.clock.advance(30 * DAY_S)
    clear(stage)
    ledger = counts(stage.store)["ledger"]
    assert 0 < ledger < before["ledger"], "entries of a ticket that has not ended stay"
    stage.store.check()


def test_a_ticket_whose_past_was_cleared_can_be_queued_again(stage: Stage) -> None:
    fill(stage.store)
    stage.clock.advance(61 * DAY_S)
    clear(stage)
    acts.retry(stage.store, "T-2", by="test")
    stage.store.check()
    queue.publish(stage.store, queue.commit(stage.store, queue.look(stage.store, "T-2")))
    stage.store.check()


def test_whole_tickets_go_only_where_the_operator_says_so_and_never_one_that_is_needed(
    tmp_path: Path,
) -> None:
    stage = staged(tmp_path, tickets_days=90)
    fill(stage.store)
    with stage.store.read() as conn:
        (draft,) = queries_runs.publications_of(conn, "T-1")
    stage.clock.advance(91 * DAY_S)
    clear(stage)
    with stage.store.read() as conn:
        assert [one.id for one in queries_tickets.tickets(conn)] == ["T-1", "T-2", "T-3", "T-4"], (
            "T-1 has an open draft, T-4 waits for T-2, T-3 waits for a person"
        )
    with closing(sqlite3.connect(stage.store.database)) as raw:
        raw.execute("UPDATE publications SET pr_state = 'merged' WHERE id = ?", (draft.id,))
        raw.commit()
    acts.cancel(stage.store, "T-4", by="test")
    stage.clock.advance(91 * DAY_S)
    clear(stage)
    with stage.store.read() as conn:
        assert [one.id for one in queries_tickets.tickets(conn)] == ["T-3"]
    stage.clock.advance(DAY_S)
    clear(stage)
    assert queue.add(stage.store, "New", repo="shop").id == "T-5", "a number is never given twice"
    with stage.store.write() as conn:
        assert conn.exec_driver_sql("PRAGMA foreign_key_check").all() == []
    assert_in_order_but_for_history(stage.store)
    stage.store.close()


def assert_in_order_but_for_history(store: Store) -> None:
    with store.read() as conn:
        for ticket in queries_tickets.tickets(conn):
            assert queries_tickets.history(conn, ticket.id)
    assert_in_order(store)


def test_it_runs_once_a_day_and_begins_anew_where_it_was_interrupted(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(stage.store)
    stage.clock.advance(31 * DAY_S)
    monkeypatch.setattr(clearing, "MAX_STEPS", 1)
    first = Retention()
    assert first(stage.shop) == stage.clock.now_ms() + PAUSE_MS
    assert clear(stage) > 2
    due_ms = first(stage.shop)
    assert due_ms is not None
    with stage.store.read() as conn:
        fired_ms = queries_host.last_firing(conn, SCHEDULE)
    assert clear(stage) == 1
    with stage.store.read() as conn:
        assert queries_host.last_firing(conn, SCHEDULE) == fired_ms


def test_of_each_daily_schedule_the_last_firing_stays_and_old_ones_go(stage: Stage) -> None:
    for _ in range(40):
        clear(stage)
        stage.clock.advance(DAY_S)
    with closing(sqlite3.connect(stage.store.database)) as raw:
        raw.execute("INSERT INTO firings VALUES ('digest 2020-01-01', 1, 1)")
        raw.execute("INSERT INTO firings VALUES ('digest 2020-01-02', 2, 2)")
        raw.commit()
    clear(stage)
    with closing(sqlite3.connect(stage.store.database)) as raw:
        names = [row[0] for row in raw.execute("SELECT schedule FROM firings ORDER BY nominal_ms")]
    assert names[0] == "digest 2020-01-02"
    assert 29 <= len(names) - 1 <= 32


def test_a_step_that_fails_ends_the_pass_and_the_next_tick_begins_it_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(stage.store)
    stage.clock.advance(31 * DAY_S)

    def fails(*_: object) -> retention.Batch:
        raise RuntimeError("a step fails")

    retained = Retention()
    with monkeypatch.context() as patched:
        patched.setattr(retention, "SWEEPS", (fails,))
        with pytest.raises(RuntimeError):
            retained(stage.shop)
    assert counts(stage.store)["gates"] > 0
    clear(stage)
    with stage.store.read() as conn:
        assert queries_tickets.history(conn, "T-1") == ()


def test_a_database_that_is_busy_does_not_make_a_pass_begin_anew(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(stage.store)
    stage.clock.advance(31 * DAY_S)
    monkeypatch.setattr(clearing, "MAX_STEPS", 1)
    begun: list[retention.Cursor] = []
    tables = retention.SWEEPS

    def busy_once(
        conn: Connection, cutoffs: retention.Cutoffs, cursor: retention.Cursor, limit: int
    ) -> retention.Batch:
        begun.append(cursor)
        if len(begun) == 1:
            raise TransientError("database-busy", "somebody writes")
        return retention.Batch(0, None)

    monkeypatch.setattr(retention, "SWEEPS", (*tables, busy_once))
    retained = Retention()
    for _ in range(100):
        retained(stage.shop)
    assert begun == [retention.START] * 2, "those before it are not swept again"
    with stage.store.read() as conn:
        assert queries_tickets.history(conn, "T-1") == ()


def first_run(stage: Stage, ticket: str) -> str:
    return queue.attempts(stage.store, queue.look(stage.store, ticket))[0].run_id


def run_folder(stage: Stage, name: str, *, with_repository: bool) -> Path:
    folder = stage.paths.runs / name
    (folder / "publish").mkdir(parents=True)
    for file in ("spec.json", "result.json", "events.jsonl", "agent-1.log", "runner.log"):
        (folder / file).write_text("x")
    for file in ("spec.json", "publisher.log", "publish-events.jsonl"):
        (folder / "publish" / file).write_text("x")
    if with_repository:
        (folder / "judge.git").mkdir()
        (folder / "judge.git" / "HEAD").write_text("x")
    return folder


def test_logs_of_ended_runs_go_and_a_folder_without_repositories_goes_whole(
    stage: Stage, tmp_path: Path
) -> None:
    fill(stage.store)
    runs = {one: first_run(stage, one) for one in ("T-1", "T-2", "T-3")}
    with_work = run_folder(stage, runs["T-1"], with_repository=True)
    bare = run_folder(stage, runs["T-2"], with_repository=False)
    parked = run_folder(stage, runs["T-3"], with_repository=False)
    orphan = run_folder(stage, "T-9-a1-00000000", with_repository=False)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "kept.log").write_text("x")
    (with_work / "linked").symlink_to(foreign)
    stage.clock.advance(9 * DAY_S)
    clear(stage)
    assert (bare / "agent-1.log").exists()
    stage.clock.advance(2 * DAY_S)
    clear(stage)
    left = sorted(path.name for path in with_work.iterdir())
    assert left == ["judge.git", "linked", "result.json", "spec.json"]
    assert not bare.exists()
    assert (parked / "agent-1.log").exists(), "its ticket has not ended"
    assert (orphan / "agent-1.log").exists(), "nobody knows it: cleaning up is an act of its own"
    assert (foreign / "kept.log").exists()


def test_digests_reports_and_requests_go_by_their_age(stage: Stage) -> None:
    fill(stage.store)
    run, parked = first_run(stage, "T-1"), first_run(stage, "T-3")
    stage.paths.reports.mkdir(exist_ok=True)
    old = [
        stage.paths.digests / "2025-12-01.md",
        stage.paths.reports / "crash-x.txt",
        stage.paths.pr_requests / f"{run}.json",
        stage.paths.pr_requests / f"{run}.verdict.json",
    ]
    kept = [stage.paths.digests / "2026-01-20.md", stage.paths.pr_requests / f"{parked}.json"]
    for path in old + kept:
        path.write_text("x")
    for path in [*old, kept[1]]:
        os.utime(path, (1_764_547_200, 1_764_547_200))  # 2025-12-01
    stage.clock.advance(21 * DAY_S)
    os.utime(kept[0], (stage.clock.now_ms() / MS_PER_S,) * 2)
    clear(stage)
    assert [path for path in old if path.exists()] == []
    assert [path for path in kept if not path.exists()] == []


def test_the_size_of_a_step_follows_how_long_the_last_one_took() -> None:
    assert clearing._next_limit(200, 0.2) == 100  # noqa: SLF001 - the rule itself
    assert clearing._next_limit(200, 0.001) == 400  # noqa: SLF001
    assert clearing._next_limit(200, 0.03) == 200  # noqa: SLF001
    assert clearing._next_limit(clearing.ROWS_LEAST, 9.0) == clearing.ROWS_LEAST  # noqa: SLF001
    assert clearing._next_limit(clearing.ROWS_MOST, 0.0) == clearing.ROWS_MOST  # noqa: SLF001


def test_a_new_database_can_give_its_room_back(tmp_path: Path) -> None:
    store = queue.new_store(tmp_path, FakeClock())
    with store.read() as conn:
        assert conn.exec_driver_sql("PRAGMA auto_vacuum").scalar() == 2
    store.close()
