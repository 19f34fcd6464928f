"""The daemon starts clean-ups as children: one a night, and one when a worktree is done with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config.proc import SpawnError
from autopilot.daemon.gc.chore import FIRST_WAIT_S, Cleaner
from autopilot.daemon.store import writes
from autopilot.daemon.watch import Ending
from autopilot.schemas.publication import PublishOutcome
from tests.support import queue
from tests.support.shop import GONE, PlayedSupervisor, Stage
from tests.support.yard import DAY_S


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    writes.turn_on(stage.store, by="test", ignore_window=True)
    yield stage
    stage.store.close()


DONE = Ending("the process ended with code 0", is_success=True)
REFUSED = Ending("the process ended with code 75")


class Chore:
    """The chore, with children that the test ends."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.supervisor = PlayedSupervisor(clock=stage.clock, inbox=stage.inbox)
        self.cleaner = Cleaner(self.supervisor)

    def tick(self) -> list[str]:
        """Ask once; give what every child so far was told to do."""
        due_ms = self.cleaner(self.stage.shop)
        assert due_ms > self.stage.clock.now_ms()
        return [launch.argv[4] for launch in self.supervisor.launches]

    def end(self, ending: Ending = DONE) -> None:
        self.supervisor.end(self.supervisor.launches[-1].order.key, ending)


def published(stage: Stage, outcome: PublishOutcome = PublishOutcome.PR_OPENED) -> None:
    from autopilot.daemon import transitions_publish

    ticket = queue.commit(stage.store, queue.add(stage.store))
    stage.paths.worktree(ticket.id).mkdir()
    live = transitions_publish.begin_publish(stage.store, ticket, base="main", base_sha=queue.BASE)
    queue.end_publish(stage.store, live, queue.verdict(live, outcome))


@pytest.mark.covers("G01")
def test_one_clean_up_a_night_is_started_and_the_first_daemon_of_all_only_notes_the_time(
    stage: Stage,
) -> None:
    chore = Chore(stage)
    assert chore.tick() == []
    stage.clock.advance(DAY_S)
    assert chore.tick() == ["nightly"]
    assert chore.tick() == ["nightly"]
    chore.end()
    assert chore.tick() == ["nightly"]
    stage.clock.advance(5 * DAY_S)
    assert chore.tick() == ["nightly", "nightly"]


@pytest.mark.covers("S01")
def test_a_worktree_is_tidied_once_its_pull_request_is_open_and_a_refusal_waits_for_the_night(
    stage: Stage,
) -> None:
    chore = Chore(stage)
    assert chore.tick() == []
    published(stage)
    assert chore.tick() == ["tidy"]
    chore.end()
    assert chore.tick() == ["tidy"]
    published(stage)
    assert chore.tick() == ["tidy", "tidy"]


@pytest.mark.covers("S08")
def test_a_branch_that_waits_for_its_pull_request_keeps_its_worktree(stage: Stage) -> None:
    chore = Chore(stage)
    chore.tick()
    published(stage, PublishOutcome.PUSHED_AWAITING_PR)
    (stage.paths.worktrees / "my notes").mkdir()
    assert chore.tick() == []


def test_a_child_that_cannot_be_started_is_no_fault_of_the_tick(stage: Stage) -> None:
    chore = Chore(stage)
    chore.tick()
    chore.supervisor.fault = lambda launch: SpawnError("spawn-failed", "no more processes")
    published(stage)
    assert chore.tick() == ["tidy"]
    assert chore.tick() == ["tidy"], "not at every tick"
    chore.supervisor.fault = lambda launch: None
    stage.clock.advance(FIRST_WAIT_S)
    assert chore.tick() == ["tidy", "tidy"]
    chore.end()
    stage.clock.advance(FIRST_WAIT_S)
    assert chore.tick() == ["tidy", "tidy"]
    chore.cleaner.close()


@pytest.mark.parametrize("ending", [REFUSED, GONE])
@pytest.mark.parametrize("what", ["tidy", "nightly"])
def test_a_clean_up_that_ended_badly_is_done_again_after_a_while_that_doubles(
    stage: Stage, what: str, ending: Ending
) -> None:
    chore = Chore(stage)
    chore.tick()
    if what == "tidy":
        published(stage)
    else:
        stage.clock.advance(DAY_S)
    assert chore.tick() == [what]
    chore.end(ending)
    for wait_s in (FIRST_WAIT_S, 2 * FIRST_WAIT_S):
        before = chore.tick()
        stage.clock.advance(wait_s - 1)
        assert chore.tick() == before
        stage.clock.advance(2)
        assert chore.tick() == [*before, what]
        chore.end(ending)
    stage.clock.advance(4 * FIRST_WAIT_S + 1)
    chore.tick()
    stage.clock.advance(4 * FIRST_WAIT_S + 1)
    before = chore.tick()
    chore.end()
    stage.clock.advance(8 * FIRST_WAIT_S + 1)
    assert chore.tick() == before


def test_a_night_whose_clean_up_could_not_be_started_is_not_counted_as_cleaned(stage: Stage) -> None:
    chore = Chore(stage)
    chore.tick()
    stage.clock.advance(DAY_S)
    chore.supervisor.fault = lambda launch: SpawnError("spawn-failed", "no more processes")
    chore.tick()
    next_daemon = Chore(stage)
    assert next_daemon.tick() == ["nightly"]
    next_daemon.end()
    next_daemon.tick()
    assert Chore(stage).tick() == []


def test_a_clean_up_has_no_credential_in_reach(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOPILOT_SECRET_FORGE", "not for a clean-up")
    chore = Chore(stage)
    chore.tick()
    stage.clock.advance(DAY_S)
    chore.tick()
    [launch] = chore.supervisor.launches
    assert "AUTOPILOT_SECRET_FORGE" not in launch.env
    assert launch.argv[1:4] == ("-P", "-m", "autopilot.daemon.gc")
