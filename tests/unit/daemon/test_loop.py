"""One tick after the other: a real queue, real specs and results, children that the test plays."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import pytest

from autopilot.daemon import desk
from autopilot.daemon.inbox import Ended, Spent, Woken
from autopilot.daemon.loop import Loop
from autopilot.daemon.watch import Ending
from autopilot.schemas.machine import State, WaitingFor
from autopilot.schemas.publication import PublishOutcome
from autopilot.schemas.run import Outcome
from tests.support import queue
from tests.support.shop import Stage

T = TypeVar("T")


@pytest.fixture
def loop(stage: Stage) -> Loop:
    return Loop(stage.shop)


class TestOneTicket:
    @pytest.mark.covers("B02")
    def test_a_queued_ticket_is_running_after_one_tick_with_all_that_its_runner_may_know(
        self, stage: Stage, loop: Loop
    ) -> None:
        queue.add(stage.store, "Fix the sum", body="It is off by one.", acceptance=("2 + 2 is 4",))
        loop.tick()
        assert stage.state() is State.RUNNING
        (spec,) = stage.run_specs()
        claim = stage.claim_of("T-1")
        assert (spec.run_id, spec.fence, spec.attempt) == (claim.attempt.run_id, claim.ticket.fence, 1)
        assert (spec.title, spec.body, spec.acceptance) == (
            "Fix the sum",
            "It is off by one.",
            ("2 + 2 is 4",),
        )
        assert (spec.repo.base, spec.repo.base_source) == ("main", "remembered")
        assert spec.branch == claim.ticket.branch
        assert claim.attempt.process == (1_000_001, 1)

    def test_a_commit_is_published_in_the_very_tick_that_judges_its_run(
        self, stage: Stage, loop: Loop
    ) -> None:
        queue.add(stage.store)
        loop.tick()
        stage.commit()
        loop.tick([Ended("T-1")])
        assert stage.state() is State.PUBLISHING
        (spec,) = stage.publish_specs()
        assert (spec.head, spec.base_sha, spec.base) == (queue.HEAD, queue.BASE, "main")
        assert (spec.branch, spec.recorded_branch) == (stage.claim_of("T-1").ticket.branch,) * 2
        assert spec.recorded_gates == queue.gates()
        assert spec.expected_remote_head is None
        stage.publish()
        loop.tick()
        assert stage.state() is State.PUBLISHED
        assert stage.publication().pr_url == "https://forge.test/pr/1"

    def test_a_run_without_result_is_tried_once_more_by_itself_and_then_waits_for_a_person(
        self, stage: Stage, loop: Loop
    ) -> None:
        queue.add(stage.store)
        for expected in (State.QUEUED, State.PARKED):
            loop.tick()
            stage.supervisor.end(stage.claim_of("T-1").attempt.run_id)
            loop.tick()
            assert stage.state() is expected
            stage.clock.advance(3600)
        assert queue.look(stage.store, "T-1").waiting_for is WaitingFor.RUNNER_LOST
        assert len(stage.run_specs()) == 2

    def test_a_publisher_without_verdict_is_started_again_later_and_the_agent_is_not_paid_again(
        self, stage: Stage, loop: Loop
    ) -> None:
        queue.add(stage.store)
        loop.tick()
        stage.commit()
        loop.tick()
        stage.supervisor.end(stage.publication().id)
        loop.tick()
        assert stage.state() is State.COMMITTED
        stage.clock.advance(3600)
        loop.tick()
        assert stage.state() is State.PUBLISHING
        first, second = stage.publish_specs()
        assert first.idempotency_key == second.idempotency_key
        assert len(stage.run_specs()) == 1

    def test_a_verdict_of_the_last_try_is_not_taken_for_this_one(self, stage: Stage, loop: Loop) -> None:
        queue.add(stage.store)
        loop.tick()
        stage.commit()
        loop.tick()
        stage.publish(PublishOutcome.PUBLISH_DEFERRED)
        loop.tick()
        stage.clock.advance(3600)
        loop.tick()
        assert stage.state() is State.PUBLISHING
        assert not Path(stage.publish_specs()[-1].verdict).exists()

    def test_what_a_run_spends_is_written_down_while_it_runs_and_never_falls(
        self, stage: Stage, loop: Loop
    ) -> None:
        queue.add(stage.store)
        loop.tick()
        run_id, fence = stage.claim_of("T-1").attempt.run_id, 1
        loop.tick([Spent(run_id, fence, 30), Spent(run_id, fence, 70), Spent(run_id, fence, 50)])
        assert stage.claim_of("T-1").attempt.spent_micro_usd == 70
        loop.tick([Spent(run_id, fence + 1, 900), Spent("T-9-a1-00000000", fence, 900)])
        assert stage.claim_of("T-1").attempt.spent_micro_usd == 70


class TestOperator:
    def test_a_cancel_stops_the_runner_and_the_ticket_is_cancelled_when_it_is_gone(
        self, stage: Stage, loop: Loop
    ) -> None:
        queue.add(stage.store)
        loop.tick()
        desk.cancel(stage.desk(), "1")
        loop.tick([Woken("operator")])
        run_id = stage.claim_of("T-1").attempt.run_id
        assert stage.supervisor.watch(run_id).stops == ["cancelled"]
        assert stage.state() is State.RUNNING
        stage.commit()  # it finished in that very moment: the operator's word counts
        loop.tick()
        assert stage.state() is State.CANCELLED
        assert stage.publish_specs() == []

    def test_after_a_cancel_in_mid_push_the_next_commit_may_stand_where_the_first_one_may_be(
        self, stage: Stage, loop: Loop
    ) -> None:
        queue.add(stage.store)
        loop.tick()
        stage.commit()
        loop.tick()
        desk.cancel(stage.desk(), "1")
        stage.supervisor.end(stage.publication().id, Ending("the process ended with code 75", "cancelled"))
        loop.tick()
        assert stage.state() is State.CANCELLED
        desk.retry(stage.desk(), "1")
        loop.tick()
        other = "d" * 40
        again = queue.result(stage.claim_of("T-1"), base="main", head=other, gates=queue.gates(other))
        stage.hand_in(again)
        loop.tick()
        assert [spec.attempted_heads for spec in stage.publish_specs()] == [(), (queue.HEAD,)]

    def test_off_lets_running_runs_finish_and_starts_nothing_more(self, stage: Stage, loop: Loop) -> None:
        queue.add(stage.store)
        loop.tick()
        queue.add(stage.store, "Another", repo="till")
        desk.turn_off(stage.desk())
        loop.tick()
        assert (stage.state(), stage.state("T-2")) == (State.RUNNING, State.QUEUED)
        assert stage.hold_names() == {"switch-off"}
        assert stage.supervisor.watch(stage.claim_of("T-1").attempt.run_id).stops == []
        desk.turn_on(stage.desk())
        loop.tick()
        assert stage.state("T-2") is State.RUNNING
        assert stage.hold_names() == set()

    def test_off_with_a_drain_time_stops_what_still_runs_then_and_no_attempt_is_used(
        self, stage: Stage, loop: Loop
    ) -> None:
        queue.add(stage.store)
        loop.tick()
        desk.turn_off(stage.desk(), mode="drain", drain_s=10)
        wake_ms = loop.tick()
        assert wake_ms == stage.clock.now_ms() + 10_000
        run_id = stage.claim_of("T-1").attempt.run_id
        assert stage.supervisor.watch(run_id).stops == []
        stage.clock.advance(10)
        loop.tick()
        assert stage.supervisor.watch(run_id).stops == ["switched off"]
        stage.hand_in(queue.result(stage.claim_of("T-1"), Outcome.STOPPED))
        loop.tick()
        ticket = queue.look(stage.store, "T-1")
        assert (ticket.state, ticket.attempts, ticket.releases) == (State.QUEUED, 0, 1)

    def test_off_now_stops_at_once(self, stage: Stage, loop: Loop) -> None:
        queue.add(stage.store)
        loop.tick()
        desk.turn_off(stage.desk(), mode="now")
        loop.tick()
        assert stage.supervisor.watch(stage.claim_of("T-1").attempt.run_id).stops == ["switched off"]

    def test_off_now_stops_a_publisher_too_and_starts_none_until_it_is_on_again(
        self, stage: Stage, loop: Loop
    ) -> None:
        queue.add(stage.store)
        loop.tick()
        stage.commit()
        loop.tick()
        desk.turn_off(stage.desk(), mode="now")
        loop.tick()
        assert stage.supervisor.watch(stage.publication().id).stops == ["switched off"]
        stage.supervisor.end(stage.publication().id, Ending("the process ended with code 75", "switched off"))
        loop.tick()
        stage.clock.advance(3600)
        loop.tick()
        assert stage.state() is State.COMMITTED
        desk.turn_on(stage.desk())
        loop.tick()
        assert stage.state() is State.PUBLISHING
        assert stage.publication().losses == 0

    def test_a_repository_added_to_the_configuration_works_without_a_restart(
        self, stage: Stage, loop: Loop
    ) -> None:
        queue.add(stage.store, repo="new")
        loop.tick()
        assert stage.hold_names() == {"repo-unknown"}
        with stage.paths.config_file.open("a") as file:
            file.write('[[repo]]\nname = "new"\nurl = "https://forge.example/o/new.git"\n')
        loop.tick()
        assert stage.state() is State.RUNNING

    def test_a_configuration_that_broke_meanwhile_leaves_the_last_good_one_at_work(
        self, stage: Stage, loop: Loop
    ) -> None:
        stage.paths.config_file.write_text("max_paralel_agents = 3")
        queue.add(stage.store)
        loop.tick()
        assert stage.state() is State.RUNNING


class TestSlots:
    def test_no_more_run_at_once_than_allowed_and_one_per_repository(self, stage: Stage, loop: Loop) -> None:
        for repo in ("shop", "shop", "till", "till"):
            queue.add(stage.store, f"For {repo}", repo=repo)
        loop.tick()
        assert [stage.state(f"T-{n}") for n in (1, 2, 3, 4)] == [
            State.RUNNING,
            State.QUEUED,
            State.RUNNING,
            State.QUEUED,
        ]
        assert stage.hold_names() == {"slots-full"}

    def test_a_busy_repository_does_not_keep_others_from_starting(self, stage: Stage, loop: Loop) -> None:
        for number in range(30):
            queue.add(stage.store, f"Shop {number}", repo="shop")
        queue.add(stage.store, "Till", repo="till")
        loop.tick()
        assert stage.state("T-31") is State.RUNNING

    def test_a_ticket_that_may_not_run_does_not_clog_the_head_of_the_queue(
        self, stage: Stage, loop: Loop
    ) -> None:
        for number in range(45):
            queue.add(stage.store, f"Unknown agent {number}", repo="till", agent=f"nobody-{number}")
        queue.add(stage.store, "Good", repo="till")
        loop.tick()
        assert stage.state("T-46") is State.RUNNING

    def test_the_next_look_is_when_the_earliest_ticket_falls_due(self, stage: Stage, loop: Loop) -> None:
        due_ms = stage.clock.now_ms() + 90_000
        queue.add(stage.store, not_before_ms=due_ms)
        assert loop.tick() == due_ms
        stage.clock.advance(90)
        loop.tick()
        assert stage.state() is State.RUNNING
