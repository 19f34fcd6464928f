"""A fault of one ticket is that ticket's alone; a store that cannot keep state is the end."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from sqlalchemy import Connection, text

from autopilot.config.proc import SpawnError
from autopilot.daemon import desk, judge, transitions, view
from autopilot.daemon.inbox import StopAsked
from autopilot.daemon.loop import Loop
from autopilot.daemon.shop import Shop
from autopilot.daemon.store import queries_runs
from autopilot.daemon.store.engine import Store
from autopilot.schemas.errors import AutopilotError, ConfigError, TransientError
from autopilot.schemas.machine import State, WaitingFor
from autopilot.schemas.publication import PublishOutcome
from autopilot.schemas.run import Outcome
from tests.support import queue
from tests.support.shop import Stage

T = TypeVar("T")


@pytest.fixture
def loop(stage: Stage) -> Loop:
    return Loop(stage.shop)


@dataclasses.dataclass(frozen=True)
class BrokenStore(Store):
    """A store that can be read and not written."""

    error: AutopilotError = dataclasses.field(kw_only=True)

    def transact(self, work: Callable[[Connection], T]) -> T:
        raise self.error


SPOIL = {
    "acceptance": "UPDATE tickets SET acceptance = :value WHERE short_id = 1",
    "not_before_ms": "UPDATE tickets SET not_before_ms = :value WHERE short_id = 1",
    "created_ms": "UPDATE tickets SET created_ms = :value WHERE short_id = 1",
}


class TestFaults:
    @pytest.mark.field_report("DMN-051")
    @pytest.mark.parametrize(
        "error",
        [
            RuntimeError("adapter"),
            KeyError("missing"),
            RecursionError(),
            sqlite3.OperationalError("near"),
            AssertionError(),
        ],
        ids=lambda error: type(error).__name__,
    )
    def test_a_bug_at_the_start_of_a_run_parks_that_ticket_with_the_attempt_counted(
        self, stage: Stage, loop: Loop, error: Exception
    ) -> None:
        """DMN-051: an exception skipped the status write, and one ticket was tried 49 times."""
        stage.supervisor.fault = lambda launch: error if "T-1" in launch.order.key else None
        queue.add(stage.store, repo="shop")
        queue.add(stage.store, repo="till")
        for _ in range(10):
            loop.tick()
            stage.clock.advance(3600)
        ticket = queue.look(stage.store, "T-1")
        assert (ticket.state, ticket.attempts, ticket.sessions) == (State.PARKED, 1, 1)
        assert type(error).__name__ in ticket.reason
        assert stage.state("T-2") is State.RUNNING

    @pytest.mark.field_report("DMN-051")
    @pytest.mark.parametrize(
        "error", [OSError("no space"), SpawnError("spawn-failed", "no memory"), MemoryError()]
    )
    def test_a_runner_that_cannot_be_started_gives_the_ticket_back_a_bounded_number_of_times(
        self, stage: Stage, loop: Loop, error: Exception
    ) -> None:
        stage.supervisor.fault = lambda launch: error
        queue.add(stage.store)
        for _ in range(100):
            loop.tick()
            stage.clock.advance(24 * 3600)
        ticket = queue.look(stage.store, "T-1")
        assert ticket.state is State.PARKED
        assert 1 < len(stage.supervisor.launches) <= stage.shop.rules.sessions_per_ticket

    @pytest.mark.parametrize("broken", ["apply_run", "apply_run park"])
    def test_a_bug_at_the_end_of_a_run_does_not_keep_the_daemon_from_stopping(
        self, stage: Stage, loop: Loop, monkeypatch: pytest.MonkeyPatch, broken: str
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise ValueError("bug")

        queue.add(stage.store)
        loop.tick()
        stage.hand_in(queue.result(stage.claim_of("T-1"), Outcome.NO_CHANGES))
        for name in broken.split():
            monkeypatch.setattr(transitions, name, fail)
        loop.tick([StopAsked("SIGTERM")])
        assert loop.is_done

    def test_a_bug_at_the_start_of_a_publisher_parks_the_ticket_and_keeps_its_commit(
        self, stage: Stage, loop: Loop
    ) -> None:
        queue.add(stage.store)
        loop.tick()
        stage.commit()
        stage.supervisor.fault = lambda launch: ValueError("bug")
        loop.tick()
        ticket = queue.look(stage.store, "T-1")
        assert (ticket.state, ticket.head) == (State.PARKED, queue.HEAD)

    def test_a_result_that_vanished_after_it_was_believed_parks_the_ticket(
        self, stage: Stage, loop: Loop
    ) -> None:
        queue.add(stage.store)
        loop.tick()
        stage.commit()
        loop.tick()
        stage.publish(PublishOutcome.PUBLISH_DEFERRED)
        loop.tick()
        (stage.paths.run_dir(stage.claim_of("T-1").attempt.run_id) / "result.json").unlink()
        stage.clock.advance(3600)
        loop.tick()
        assert stage.state() is State.PARKED
        assert "result" in queue.look(stage.store, "T-1").reason

    @pytest.mark.parametrize(
        ("column", "value"),
        [
            ("acceptance", "not json"),
            ("acceptance", "[1, 2]"),
            ("not_before_ms", -5),
            ("created_ms", "yesterday"),
        ],
    )
    def test_a_row_that_cannot_be_read_parks_its_ticket_and_holds_up_no_other(
        self, stage: Stage, loop: Loop, column: str, value: object
    ) -> None:
        queue.add(stage.store, repo="shop")
        queue.add(stage.store, repo="till")
        with stage.store.write() as conn:
            conn.execute(text(SPOIL[column]), {"value": value})
        for _ in range(3):
            loop.tick()
            view.status(stage.desk())
        ticket = queue.look(stage.store, "T-1")
        assert (ticket.state, ticket.waiting_for) == (State.PARKED, WaitingFor.CONFIGURATION)
        assert f"{column} was {str(value)!r}" in ticket.reason
        assert stage.state("T-2") is State.RUNNING

    def test_a_word_of_a_later_program_in_a_parked_row_does_not_stop_the_loop(
        self, stage: Stage, loop: Loop
    ) -> None:
        queue.add(stage.store, repo="shop")
        loop.tick()
        stage.hand_in(queue.result(stage.claim_of("T-1"), Outcome.NO_CHANGES))
        loop.tick()
        queue.add(stage.store, repo="till")
        with stage.store.write() as conn:
            conn.exec_driver_sql("UPDATE tickets SET waiting_for = 'moon-phase' WHERE short_id = 1")
        loop.tick()
        assert stage.state("T-2") is State.RUNNING

    def test_a_publish_folder_that_somebody_made_before_us_is_not_used(
        self, stage: Stage, loop: Loop, tmp_path: Path
    ) -> None:
        """An agent that can write there could have a publisher's log appended to any file of the user's."""
        queue.add(stage.store)
        loop.tick()
        folder = stage.paths.publish_dir(stage.claim_of("T-1").attempt.run_id)
        folder.symlink_to(tmp_path)
        stage.commit()
        loop.tick()
        assert stage.state() is State.PARKED
        assert not (tmp_path / "spec.json").exists()

    def test_a_commit_whose_repository_left_the_configuration_waits_for_a_person(
        self, stage: Stage, loop: Loop
    ) -> None:
        queue.add(stage.store, repo="till")
        loop.tick()
        without = stage.paths.config_file.read_text().split('[[repo]]\nname = "till"')[0]
        stage.paths.config_file.write_text(without)
        stage.commit()
        loop.tick()
        ticket = queue.look(stage.store, "T-1")
        assert (ticket.state, ticket.waiting_for) == (State.PARKED, WaitingFor.CONFIGURATION)
        assert "till" in ticket.reason

    @pytest.mark.parametrize("code", ["database-full", "database-damaged", "database-unwritable"])
    def test_a_store_that_cannot_keep_state_ends_the_daemon(self, stage: Stage, code: str) -> None:
        queue.add(stage.store)
        values = {field.name: getattr(stage.store, field.name) for field in dataclasses.fields(Store)}
        broken = BrokenStore(**values, error=ConfigError(code, "the disk is full"))
        with pytest.raises(ConfigError) as caught:
            Loop(dataclasses.replace(stage.shop, store=broken)).tick()
        assert caught.value.code == code
        assert stage.run_specs() == []

    def test_a_database_that_is_only_busy_is_asked_again(self, stage: Stage) -> None:
        queue.add(stage.store)
        values = {field.name: getattr(stage.store, field.name) for field in dataclasses.fields(Store)}
        busy = BrokenStore(**values, error=TransientError("database-busy", "somebody writes"))
        Loop(dataclasses.replace(stage.shop, store=busy)).tick()
        assert stage.state() is State.QUEUED
        Loop(stage.shop).tick()
        assert stage.state() is State.RUNNING

    def test_a_database_that_is_busy_when_a_run_ends_costs_nobody_the_work(self, stage: Stage) -> None:
        """The run is paid, and its result lies there: parked, it would have been paid for nothing."""
        queue.add(stage.store)
        Loop(stage.shop).tick()
        stage.commit()
        values = {field.name: getattr(stage.store, field.name) for field in dataclasses.fields(Store)}
        busy = BrokenStore(**values, error=TransientError("database-busy", "somebody writes"))
        Loop(dataclasses.replace(stage.shop, store=busy)).tick()
        assert stage.state() is State.RUNNING
        Loop(stage.shop).tick()
        assert stage.state() is State.PUBLISHING

    def test_a_cancel_is_heard_also_where_the_run_could_not_be_judged(
        self, stage: Stage, loop: Loop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        queue.add(stage.store)
        loop.tick()
        desk.cancel(stage.desk(), "T-1")
        stage.commit()

        def break_down(*_: object, **__: object) -> None:
            raise RuntimeError("adapter")

        monkeypatch.setattr(judge, "result_of", break_down)
        loop.tick()
        assert stage.state() is State.CANCELLED


class TestBreaker:
    @pytest.mark.field_report("AGT-022")
    @pytest.mark.covers("E01")
    def test_an_agent_whose_every_failure_looks_alike_does_not_eat_the_queue(
        self, stage: Stage, loop: Loop
    ) -> None:
        """AGT-022: exit 1 and silence, ten times in a row over several tickets."""
        for number in range(10):
            queue.add(stage.store, f"Ticket {number}")
        for _ in range(40):
            loop.tick()
            with stage.store.read() as conn:
                live = queries_runs.running(conn)
            for run in live:
                claim = stage.claim_of(run.ticket.id)
                stage.hand_in(queue.result(claim, Outcome.AGENT_FAILED, code="agent-failed-unknown"))
            loop.tick()
        assert len(stage.run_specs()) == stage.shop.rules.breaker_open_after
        assert stage.hold_names() == {"breaker-open"}
        why = view.why(stage.desk(), "T-9")
        assert [hold["name"] for hold in why["holds"]] == ["breaker-open"]


class TestChores:
    def test_a_chore_is_asked_on_every_tick_and_its_next_time_is_kept(self, stage: Stage) -> None:
        asked: list[int] = []

        def chore(shop: Shop) -> int:
            asked.append(shop.now_ms())
            return shop.now_ms() + 5_000

        loop = Loop(stage.shop, chores=(chore,))
        assert loop.tick() == stage.clock.now_ms() + 5_000
        loop.tick()
        assert len(asked) == 2

    @pytest.mark.covers("B16")
    def test_a_chore_that_fails_keeps_nothing_else_from_being_done(self, stage: Stage) -> None:
        def broken(shop: Shop) -> int:
            raise RuntimeError("bug")

        queue.add(stage.store)
        Loop(stage.shop, chores=(broken,)).tick()
        assert stage.state() is State.RUNNING
