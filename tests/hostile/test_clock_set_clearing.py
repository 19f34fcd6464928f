"""A clock that is set clears nothing away before its time, and what had its time goes all the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.daemon import acts, clearing
from autopilot.daemon import retention as chore
from autopilot.daemon.gc import standing
from autopilot.daemon.store import queries_tickets, retention
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.clocked_host import CEILING, DAY_S, YEAR_S, Host
from tests.support.past import counts

DAYS = """
retention.tickets_days = 95
retention.history_days = 30
retention.ledger_days = 60
retention.logs_days = 30
retention.files_days = 90
"""
BEFORE_IT_IS_DUE = [100 * DAY_S, YEAR_S + DAY_S, 30 * YEAR_S]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path, config=CEILING + DAYS)
    yield host
    host.stage.store.close()


def over(host: Host) -> dict[str, Path]:
    """T-1 has cost one of four dollars and a half, and is over; T-2 waits for money. Gives files of T-1."""
    host.spend()
    acts.cancel(host.stage.store, "T-1", by="test")
    paths = host.stage.paths
    run = queue.attempts(host.stage.store, queue.look(host.stage.store, "T-1"))[0].run_id
    paths.run_dir(run).mkdir(parents=True, exist_ok=True)
    files = {
        "log": paths.run_dir(run) / "runner.log",
        "request": paths.pr_requests / f"{run}.json",
        "digest": paths.digests / "2026-01-01.md",
    }
    for path in files.values():
        path.parent.mkdir(exist_ok=True)
        path.write_text("x", encoding="utf-8")
        os.utime(path, ns=(host.clock.now_ms() * 10**6,) * 2)
    return files


def clear(host: Host) -> None:
    """A day's clearing, whenever in the coming day it is due."""
    for _ in range(25):
        for _ in range(4):
            host.look()
            host.clock.advance(1)
        host.clock.advance(3600 - 4)


@pytest.mark.parametrize("seconds", BEFORE_IT_IS_DUE)
def test_a_clock_set_ahead_clears_nothing_that_counts_and_nothing_of_today(host: Host, seconds: int) -> None:
    files = over(host)
    before = counts(host.stage.store)
    host.clock.jump_wall(seconds)
    for _ in range(100):  # it is due at once
        host.look()
        host.clock.advance(1)
    assert (host.stage.hold_names(), host.stage.state("T-2")) == ({"cost-ceiling"}, State.QUEUED)
    assert counts(host.stage.store) == before
    assert [name for name, path in files.items() if not path.exists()] == []


@pytest.mark.parametrize("seconds", BEFORE_IT_IS_DUE)
def test_also_where_it_is_set_while_no_daemon_runs(host: Host, seconds: int) -> None:
    host.boots_as("boot-1")
    files = over(host)
    before = counts(host.stage.store)
    host.clock.jump_wall(seconds)
    host.start()
    for _ in range(100):
        host.look()
        host.clock.advance(1)
    assert (host.stage.hold_names(), host.stage.state("T-2")) == ({"cost-ceiling"}, State.QUEUED)
    assert counts(host.stage.store) == before
    assert [name for name, path in files.items() if not path.exists()] == []


@pytest.mark.parametrize("seconds", [YEAR_S, -YEAR_S, 30 * YEAR_S])
def test_what_had_its_time_since_the_clock_was_set_goes(host: Host, seconds: int) -> None:
    files = over(host)
    with host.stage.store.write() as conn:
        conn.exec_driver_sql("UPDATE switch SET is_on = 0")  # T-2 rests
    host.clock.jump_wall(seconds)
    host.look()
    # Set back, what was stamped before looks younger than it is.
    host.clock.advance(90 * DAY_S + max(0, -seconds))
    clear(host)
    assert not any(path.exists() for path in files.values())
    host.clock.advance(5 * DAY_S)
    clear(host)
    with host.stage.store.read() as conn:
        assert queries_tickets.ticket(conn, "T-1") is None


def test_a_clock_set_back_while_it_clears_takes_nothing_of_today(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clearing, "MAX_STEPS", 1)
    clear(host)
    over(host)
    while host.loop.tick() != host.clock.now_ms() + chore.PAUSE_MS:
        host.clock.advance(600)
    host.clock.jump_wall(-100 * DAY_S)
    host.look()
    acts.cancel(host.stage.store, "T-2", by="test")
    before = counts(host.stage.store)
    for _ in range(100):
        host.look()
        host.clock.advance(1)
    assert counts(host.stage.store) == before


def test_whatever_the_cut_off_a_ticket_whose_money_counts_stays(host: Host) -> None:
    over(host)
    acts.cancel(host.stage.store, "T-2", by="test")
    now_ms = host.clock.now_ms()
    wrong_ms = now_ms + YEAR_S * 1000
    cutoffs = retention.Cutoffs(now_ms=now_ms, history_ms=0, ledger_ms=0, tickets_ms=wrong_ms, steps_ms=0)
    cursor: retention.Cursor | None = retention.START
    with host.stage.store.write() as conn:
        while cursor is not None:
            cursor = retention.tickets(conn, cutoffs, cursor, 200).cursor
        assert [one.id for one in queries_tickets.tickets(conn)] == ["T-1"]


def test_a_worktree_stays_as_many_days_as_was_said(host: Host) -> None:
    over(host)
    host.clock.jump_wall(YEAR_S)
    desk = host.stage.desk()
    host.look()
    with host.stage.store.read() as conn:
        ticket = queries_tickets.ticket(conn, "T-1")
        assert ticket is not None
        now_ms = standing.now_ms_for(desk, conn, 7)
    assert not standing.run_of(ticket, now_ms=now_ms, keep_days=7).may_go
    host.clock.advance(8 * DAY_S)
    host.look()
    with host.stage.store.read() as conn:
        now_ms = standing.now_ms_for(desk, conn, 7)
    assert standing.run_of(ticket, now_ms=now_ms, keep_days=7).may_go
