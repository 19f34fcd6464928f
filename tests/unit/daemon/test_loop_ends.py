"""How the loop comes to its end, and how the next one takes up what it finds."""

from __future__ import annotations

from typing import TypeVar

import pytest

from autopilot.daemon import transitions
from autopilot.daemon.inbox import StopAsked
from autopilot.daemon.loop import Loop
from autopilot.daemon.store import writes
from autopilot.daemon.watch import Ending
from autopilot.schemas.errors import TransientError
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.shop import Stage

T = TypeVar("T")


@pytest.fixture
def loop(stage: Stage) -> Loop:
    return Loop(stage.shop)


class TestDrain:
    def test_after_the_first_stop_nothing_starts_and_what_runs_may_finish(
        self, stage: Stage, loop: Loop
    ) -> None:
        queue.add(stage.store, repo="shop")
        loop.tick()
        queue.add(stage.store, repo="till")
        loop.tick([StopAsked("SIGTERM")])
        assert (loop.is_draining, loop.is_done) == (True, False)
        assert stage.state("T-2") is State.QUEUED
        stage.commit()
        loop.tick()
        assert stage.state() is State.COMMITTED
        assert loop.is_done

    def test_what_outlives_the_drain_time_is_stopped_and_given_back(self, stage: Stage, loop: Loop) -> None:
        queue.add(stage.store)
        loop.tick()
        loop.tick([StopAsked("SIGTERM")])
        run_id = stage.claim_of("T-1").attempt.run_id
        assert loop.patience_s == stage.settings.daemon.drain_s
        stage.clock.advance(stage.settings.daemon.drain_s)
        loop.tick()
        assert stage.supervisor.watch(run_id).stops == ["the daemon stops"]
        stage.supervisor.end(run_id, Ending("the process was killed by signal 9", "the daemon stops"))
        loop.tick()
        ticket = queue.look(stage.store, "T-1")
        assert (ticket.state, ticket.attempts, ticket.losses) == (State.QUEUED, 0, 0)
        assert loop.is_done

    def test_a_second_stop_does_not_wait(self, stage: Stage, loop: Loop) -> None:
        queue.add(stage.store)
        loop.tick()
        loop.tick([StopAsked("SIGTERM"), StopAsked("SIGTERM")])
        assert stage.supervisor.watch(stage.claim_of("T-1").attempt.run_id).stops == ["the daemon stops"]

    def test_a_publisher_stopped_with_the_daemon_is_no_lost_publisher(self, stage: Stage, loop: Loop) -> None:
        queue.add(stage.store)
        loop.tick()
        stage.commit()
        loop.tick()
        loop.tick([StopAsked("SIGTERM"), StopAsked("SIGTERM")])
        ending = Ending("the process ended with code 75", "the daemon stops")
        stage.supervisor.end(stage.publication().id, ending)
        loop.tick()
        assert stage.state() is State.COMMITTED
        assert stage.publication().losses == 0
        assert loop.is_done

    def test_with_nothing_running_it_goes_at_once(self, loop: Loop) -> None:
        loop.tick([StopAsked("SIGINT")])
        assert loop.is_done


class TestRecovery:
    def test_a_runner_that_outlived_the_daemon_is_adopted_and_not_started_again(self, stage: Stage) -> None:
        queue.add(stage.store)
        Loop(stage.shop).tick()
        run_id = stage.claim_of("T-1").attempt.run_id
        stage.supervisor.forget(run_id)
        again = Loop(stage.shop)
        again.recover()
        again.tick()
        assert stage.state() is State.RUNNING
        assert stage.supervisor.watch(run_id).ending is None
        assert len(stage.run_specs()) == 1

    def test_a_runner_that_was_started_but_not_written_down_is_adopted_by_its_mark(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        queue.add(stage.store)
        with monkeypatch.context() as patch:
            patch.setattr(writes, "record_process", lambda *_, **__: None)
            Loop(stage.shop).tick()
        attempt = stage.claim_of("T-1").attempt
        assert attempt.process is None
        stage.supervisor.forget(attempt.run_id)
        again = Loop(stage.shop)
        again.recover()
        again.tick()
        assert stage.state() is State.RUNNING
        assert stage.claim_of("T-1").attempt.process == (1_000_001, 1)
        assert len(stage.run_specs()) == 1

    def test_a_run_that_ended_while_no_daemon_lived_is_judged_by_its_result(self, stage: Stage) -> None:
        queue.add(stage.store)
        Loop(stage.shop).tick()
        stage.commit()
        run_id = stage.claim_of("T-1").attempt.run_id
        stage.supervisor.forget(run_id)
        again = Loop(stage.shop)
        again.recover()
        assert stage.state() is State.COMMITTED
        assert run_id in stage.supervisor.swept

    def test_a_claim_that_never_became_a_process_is_given_back_without_an_attempt(self, stage: Stage) -> None:
        queue.claim(stage.store, queue.add(stage.store))
        again = Loop(stage.shop)
        again.recover()
        ticket = queue.look(stage.store, "T-1")
        assert (ticket.state, ticket.attempts, ticket.releases) == (State.QUEUED, 0, 1)

    def test_a_publication_whose_publisher_is_gone_is_judged_by_its_verdict_or_started_again(
        self, stage: Stage
    ) -> None:
        queue.add(stage.store)
        loop = Loop(stage.shop)
        loop.tick()
        stage.commit()
        loop.tick()
        stage.supervisor.end(stage.publication().id)
        stage.supervisor.forget(stage.publication().id)
        again = Loop(stage.shop)
        again.recover()
        assert stage.state() is State.COMMITTED
        stage.clock.advance(3600)
        again.tick()
        stage.publish()
        stage.supervisor.forget(stage.publication().id)
        third = Loop(stage.shop)
        third.recover()
        assert stage.state() is State.PUBLISHED
        assert len(stage.publish_specs()) == 2


class TestWantOfTheMachine:
    @pytest.mark.parametrize(
        "error",
        [
            MemoryError(),
            TransientError("memory-short", "no memory is left"),
            TransientError("thread-unstarted", "no thread"),
            TransientError("reading-short", "no descriptor"),
        ],
        ids=repr,
    )
    def test_it_is_no_fault_of_the_ticket_whose_end_it_meets(
        self, stage: Stage, loop: Loop, monkeypatch: pytest.MonkeyPatch, error: Exception
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise error

        queue.add(stage.store, repo="shop")
        loop.tick()
        stage.commit()
        with monkeypatch.context() as patch:
            patch.setattr(transitions, "apply_run", fail)
            for _ in range(2):
                loop.tick()
                assert stage.state() is State.RUNNING
        loop.tick()
        ticket = queue.look(stage.store, "T-1")
        assert (ticket.state, ticket.attempts, ticket.losses) == (State.PUBLISHING, 1, 0)
