"""What became of open drafts is asked off the loop's thread, and only a certain answer frees the cap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autopilot.config.proc import SpawnError
from autopilot.daemon import desk, settling, view
from autopilot.daemon.drafts import ASK_EVERY_MS
from autopilot.daemon.inbox import StopAsked
from autopilot.daemon.store import writes
from autopilot.daemon.watch import Ending
from autopilot.schemas.errors import RefusedError
from autopilot.schemas.machine import State
from autopilot.schemas.publication import PublishOutcome
from tests.support import queue
from tests.support.drafts import Asking, pr_states, publish_drafts
from tests.support.shop import CONFIG, Stage

SIXTH = "T-6"
OVERDUE = Ending("the process outlived its 2 min and was killed", is_overdue=True)


@pytest.fixture
def asking(stage: Stage) -> Asking:
    """Five drafts, and a sixth ticket that waits for one of them."""
    publish_drafts(stage)
    queue.add(stage.store, "The sixth")
    return Asking(stage)


class TestCap:
    def test_five_drafts_hold_the_sixth_ticket_and_one_child_asks_about_all_of_them(
        self, stage: Stage, asking: Asking
    ) -> None:
        asking.loop.tick()
        assert stage.state(SIXTH) is State.QUEUED
        assert stage.hold_names() == {"review-load"}
        (launch,), (spec,) = asking.supervisor.launches, asking.specs()
        assert launch.argv[-3:-1] == ("autopilot.publish", "state")
        assert [(pull.number, pull.publication[:4]) for pull in spec.pulls] == [
            (number, f"T-{number}-") for number in range(1, 6)
        ]
        assert spec.forge.kind == "local"
        assert launch.order.wall_s < 180

    @pytest.mark.field_report("PUB-014")
    def test_one_that_was_merged_frees_a_place_and_the_hold_clears_by_itself(
        self, stage: Stage, asking: Asking
    ) -> None:
        asking.loop.tick()
        asking.answer(["open", "open", "merged", "open", "open"])
        again_ms = asking.loop.tick()
        assert pr_states(stage) == ["open", "open", "merged", "open", "open"]
        assert again_ms == stage.clock.now_ms()
        asking.loop.tick()
        assert stage.state(SIXTH) is State.RUNNING
        assert stage.hold_names() == set()

    @pytest.mark.field_report("DMN-050")
    def test_dmn_050_of_drafts_that_were_asked_about_nothing_is_kept(
        self, stage: Stage, asking: Asking
    ) -> None:
        asking.loop.tick()
        names = [pull.publication for pull in asking.specs()[0].pulls]
        assert len(names) == 5
        assert all(name in repr(vars(asking.drafts)) for name in names), "while it is asked they are known"
        asking.answer(["merged", "closed", "open", "open", "open"])
        asking.loop.tick()
        assert [name for name in names if name in repr(vars(asking.drafts))] == []

    def test_a_closed_one_frees_a_place_too(self, stage: Stage, asking: Asking) -> None:
        asking.loop.tick()
        asking.answer(["closed"])
        asking.loop.tick()
        asking.loop.tick()
        assert stage.state(SIXTH) is State.RUNNING

    @pytest.mark.parametrize("state", ["open", "unknown"])
    def test_an_answer_that_is_not_certain_frees_nothing(
        self, stage: Stage, asking: Asking, state: str
    ) -> None:
        asking.loop.tick()
        asking.answer([state] * 5)
        asking.loop.tick()
        asking.loop.tick()
        assert pr_states(stage) == ["open"] * 5
        assert stage.state(SIXTH) is State.QUEUED

    def test_a_child_that_was_killed_or_lost_its_report_changes_nothing(
        self, stage: Stage, asking: Asking
    ) -> None:
        for ending in (OVERDUE, Ending("the process was killed by signal 9")):
            asking.loop.tick()
            asking.end(ending)
            asking.loop.tick()
            assert pr_states(stage) == ["open"] * 5
            stage.clock.advance(ASK_EVERY_MS / 1000)
        assert stage.state(SIXTH) is State.QUEUED

    @pytest.mark.parametrize(
        "changed",
        [
            {"id": "another"},
            {"answers": [{"publication": "T-9-a1-00000000", "state": "merged"}]},
        ],
    )
    def test_a_report_that_is_not_about_these_questions_is_not_believed(
        self, stage: Stage, asking: Asking, changed: dict[str, Any]
    ) -> None:
        asking.loop.tick()
        asking.answer(["merged"] * 5, **changed)
        asking.loop.tick()
        assert pr_states(stage) == ["open"] * 5

    def test_a_report_of_the_question_before_is_not_there_any_more(
        self, stage: Stage, asking: Asking
    ) -> None:
        asking.loop.tick()
        asking.answer(["open"])
        asking.loop.tick()
        stage.clock.advance(ASK_EVERY_MS / 1000)
        asking.loop.tick()
        assert not asking.specs()[-1].report.exists()

    def test_what_a_person_said_meanwhile_stands(self, stage: Stage, asking: Asking) -> None:
        asking.loop.tick()
        settling.settle(stage.desk(), "T-1", "merged")
        asking.answer(["closed"])
        asking.loop.tick()
        assert pr_states(stage)[0] == "merged"


class TestPace:
    @pytest.mark.parametrize("set_ahead_s", [0, 24 * 3600])
    def test_while_an_answer_is_overdue_the_loop_waits_for_it_and_does_not_spin(
        self, stage: Stage, asking: Asking, set_ahead_s: int
    ) -> None:
        """Found by the simulation: each look gave the moment at which the question should be asked again."""
        asking.loop.tick()
        if set_ahead_s:
            stage.clock.jump_wall(set_ahead_s)
        else:
            stage.clock.advance(2 * ASK_EVERY_MS / 1000)
        again_ms = asking.drafts(stage.shop)
        assert again_ms is None
        assert len(asking.specs()) == 1
        asking.answer(["open"])
        assert asking.drafts(stage.shop) == stage.clock.now_ms() + ASK_EVERY_MS

    def test_a_repository_is_asked_again_after_ten_minutes_and_not_before(
        self, stage: Stage, asking: Asking
    ) -> None:
        asking.loop.tick()
        asking.answer(["open"] * 5)
        due_ms = stage.clock.now_ms() + ASK_EVERY_MS
        for _ in range(3):
            assert asking.loop.tick() == due_ms
            stage.clock.advance(199)
        asking.loop.tick()
        assert len(asking.supervisor.launches) == 1
        stage.clock.advance(3)
        asking.loop.tick()
        assert len(asking.supervisor.launches) == 2

    def test_a_child_under_way_is_not_joined_by_another(self, stage: Stage, asking: Asking) -> None:
        for _ in range(3):
            asking.loop.tick()
            stage.clock.advance(ASK_EVERY_MS / 1000)
        assert len(asking.supervisor.launches) == 1

    def test_a_clock_set_back_does_not_put_the_next_question_off(self, stage: Stage, asking: Asking) -> None:
        asking.loop.tick()
        asking.answer(["open"])
        asking.loop.tick()
        stage.clock.jump_wall(-5 * 3600)
        asking.loop.tick()
        assert len(asking.supervisor.launches) == 2

    def test_nobody_is_asked_while_no_ticket_waits_for_it(self, stage: Stage) -> None:
        publish_drafts(stage)
        asking = Asking(stage)
        asking.loop.tick()
        queue.add(stage.store, "The sixth")
        desk.turn_off(stage.desk())
        asking.loop.tick()
        assert asking.supervisor.launches == []
        desk.turn_on(stage.desk())
        asking.loop.tick()
        assert len(asking.supervisor.launches) == 1

    def test_below_the_cap_nobody_is_asked(self, stage: Stage) -> None:
        publish_drafts(stage, 4)
        queue.add(stage.store, "The fifth")
        asking = Asking(stage)
        asking.loop.tick()
        assert stage.state("T-5") is State.RUNNING
        assert asking.supervisor.launches == []

    def test_a_child_that_cannot_be_started_is_tried_again_in_its_time(
        self, stage: Stage, asking: Asking
    ) -> None:
        asking.supervisor.fault = lambda launch: SpawnError("spawn-failed", "no more processes")
        asking.loop.tick()
        asking.loop.tick()
        assert len(asking.supervisor.launches) == 1
        stage.clock.advance(ASK_EVERY_MS / 1000)
        asking.loop.tick()
        assert len(asking.supervisor.launches) == 2

    def test_what_an_earlier_daemon_left_running_is_ended_before_the_first_question(
        self, stage: Stage, asking: Asking
    ) -> None:
        asking.loop.tick()
        key = asking.supervisor.launches[0].order.key
        assert asking.supervisor.swept == [key]
        assert key.startswith("drafts-shop-")

    def test_no_draining_daemon_waits_for_an_answer(self, stage: Stage, asking: Asking) -> None:
        asking.loop.tick()
        asking.loop.tick([StopAsked("SIGTERM")])
        assert asking.loop.is_done
        watch = asking.supervisor.watch(asking.supervisor.launches[0].order.key)
        asking.drafts.close()
        assert watch.stops == ["the daemon stops"]


class TestPerson:
    def test_why_names_the_drafts_that_count_and_the_cure(self, stage: Stage, asking: Asking) -> None:
        (hold,) = view.why(stage.desk(), SIXTH)["holds"]
        assert hold["name"] == "review-load"
        assert hold["cause"] == "5 drafts wait for review (T-1, T-2, T-3, T-4, T-5); 5 may"
        assert "`autopilot review T-1 --merged`" in hold["cure"]

    def test_a_persons_word_frees_a_place_without_the_forge(self, stage: Stage, asking: Asking) -> None:
        told = settling.settle(stage.desk(), "T-2", "closed")
        assert (told["ticket"]["id"], told["publication"]["pr_state"]) == ("T-2", "closed")
        asking.loop.tick()
        assert stage.state(SIXTH) is State.RUNNING
        assert view.why(stage.desk(), "T-2")["next"] == "nothing: its pull request is closed"
        assert view.why(stage.desk(), "T-1")["next"] == "a person reviews its pull request"

    def test_a_branch_that_awaits_its_pull_request_can_be_settled_by_a_persons_word_alone(
        self, stage: Stage
    ) -> None:
        queue.add(stage.store)
        asking = Asking(stage)
        asking.loop.tick()
        stage.commit()
        asking.loop.tick()
        stage.publish(PublishOutcome.PUSHED_AWAITING_PR)
        asking.loop.tick()
        assert settling.settle(stage.desk(), "T-1", "merged")["publication"]["pr_state"] == "merged"

    def test_a_ticket_of_which_nothing_was_pushed_cannot_be_settled(self, stage: Stage) -> None:
        queue.add(stage.store)
        with pytest.raises(RefusedError, match="nothing-to-settle"):
            settling.settle(stage.desk(), "T-1", "merged")


def test_the_drafts_of_a_github_repository_are_asked_there_and_the_token_is_only_named(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path)
    github = 'forge = "github"\ncredential = "forge-token"\nbase = "main"\n'
    stage.paths.config_file.write_text(CONFIG.replace('base = "main"\n', github, 1))
    writes.turn_on(stage.store, by="test")
    publish_drafts(stage)
    queue.add(stage.store, "The sixth")
    asking = Asking(stage)
    asking.loop.tick()
    forge = asking.specs()[0].forge
    assert (forge.kind, forge.project, forge.credential) == ("github", "o/shop", "forge-token")
    stage.store.close()
