"""Agents that sign in as one account: runs start apart, and one of them tries a refused sign-in again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.daemon import desk
from autopilot.daemon.clockwork import Passed
from autopilot.daemon.loop import Loop
from autopilot.daemon.store import queries_host, writes
from autopilot.schemas.machine import State, WaitingFor
from autopilot.schemas.run import Outcome
from tests.support import queue
from tests.support.shop import Stage

ACCOUNT = """[agents.scripted]
kind = "scripted"
env_pass = ["SCRIPTED_KEY"]
[agents.other]
kind = "scripted"
env_pass = ["SCRIPTED_KEY"]
model = "larger"
"""


@pytest.fixture
def two_agents(tmp_path: Path) -> Iterator[Stage]:
    """Two agents of the configuration that sign in by one key, each with a run that was started with it."""
    stage = Stage(tmp_path)
    config = stage.paths.config_file
    text = config.read_text()
    begin, end = text.index("[agents.scripted]"), text.index("[[repo]]")
    config.write_text(text[:begin] + ACCOUNT + text[end:])
    stage.current.refresh()
    queue.add(stage.store)
    queue.add(stage.store, repo="till", agent="other")
    queue.add(stage.store, repo="till")
    writes.turn_on(stage.store, by="test")
    loop = Loop(stage.shop)
    loop.tick()
    stage.clock.advance(2)
    loop.tick()
    assert states(stage) == [State.RUNNING, State.RUNNING, State.QUEUED]
    yield stage
    stage.store.close()


def refuse(stage: Stage, ticket_id: str) -> None:
    """Let a ticket's run end with a sign-in that its service does not take."""
    claim = stage.claim_of(ticket_id)
    stage.hand_in(queue.result(claim, Outcome.CREDENTIAL, code="agent-not-authenticated"))


def states(stage: Stage) -> list[State]:
    return [stage.state(f"T-{number}") for number in (1, 2, 3)]


def set_clock(stage: Stage, loop: Loop, by_s: int) -> None:
    """Let somebody set the machine's clock, and the daemon notice it."""
    stage.clock.jump_wall(by_s)
    loop.follow_clock(Passed(slept_ms=0, set_ms=by_s * 1000, now_ms=stage.clock.now_ms()))


def give_room(stage: Stage) -> None:
    """Let nothing but the account keep a run from starting."""
    config = stage.paths.config_file
    room = "max_parallel_agents = 9\nper_repo_parallel = 9"
    config.write_text(config.read_text().replace("max_parallel_agents = 2", room))
    stage.current.refresh()


def running(stage: Stage) -> list[str]:
    return [f"T-{number}" for number in (1, 2, 3) if stage.state(f"T-{number}") is State.RUNNING]


@pytest.mark.field_report("DMN-003")
def test_of_two_agents_on_one_account_refused_at_once_one_run_tries_again_for_both(two_agents: Stage) -> None:
    stage, loop = two_agents, Loop(two_agents.shop)
    refuse(stage, "T-1")
    refuse(stage, "T-2")
    loop.tick()
    assert states(stage) == [State.QUEUED] * 3
    stage.clock.advance(16)
    loop.tick()
    stage.clock.advance(60)
    loop.tick()
    (trying,) = running(stage)
    before = len(stage.supervisor.launches)
    refuse(stage, trying)
    loop.tick()
    ticket = queue.look(stage.store, trying)
    assert (ticket.state, ticket.waiting_for) == (State.PARKED, WaitingFor.CREDENTIAL)
    stage.clock.advance(25 * 60)
    loop.tick()
    assert running(stage) == []
    assert len(stage.supervisor.launches) == before
    assert "breaker-open" in stage.hold_names()


@pytest.mark.field_report("DMN-003")
def test_once_one_run_has_found_the_sign_in_accepted_both_agents_go_on(two_agents: Stage) -> None:
    stage, loop = two_agents, Loop(two_agents.shop)
    refuse(stage, "T-1")
    refuse(stage, "T-2")
    loop.tick()
    stage.clock.advance(16)
    loop.tick()
    (trying,) = running(stage)
    stage.commit(trying)
    loop.tick()
    stage.clock.advance(2)
    loop.tick()
    ended = [trying]
    while len(ended) < 3:
        going = running(stage)
        assert going
        for next_one in going:
            ended.append(next_one)
            stage.commit(next_one)
        loop.tick()
        stage.clock.advance(2)
        loop.tick()
    assert sorted(ended) == ["T-1", "T-2", "T-3"]
    with stage.store.read() as conn:
        agents = [row for row in queries_host.breakers(conn) if row.scope.startswith("agent:")]
    assert {row.scope: row.state for row in agents} == {"agent:other": "closed", "agent:scripted": "closed"}


@pytest.mark.field_report("DMN-003")
@pytest.mark.parametrize("by_s", [-3600, 3600])
def test_a_clock_that_is_set_changes_nothing_about_who_tries_a_refused_sign_in(
    two_agents: Stage, by_s: int
) -> None:
    stage, loop = two_agents, Loop(two_agents.shop)
    give_room(stage)
    refuse(stage, "T-1")
    loop.tick()
    assert running(stage) == ["T-2"], "it began before anything was refused"
    set_clock(stage, loop, by_s)
    stage.clock.advance(16)
    loop.tick()
    (trying,) = set(running(stage)) - {"T-2"}
    set_clock(stage, loop, by_s)
    stage.clock.advance(60)
    loop.tick()
    assert running(stage) == sorted(["T-2", trying]), "one run tries"


@pytest.mark.field_report("DMN-003")
@pytest.mark.parametrize("by_s", [-3600, 3600])
def test_another_agent_that_tries_for_all_of_its_account_does_so_alone_whatever_the_clock_is_set_to(
    two_agents: Stage, by_s: int
) -> None:
    stage, loop = two_agents, Loop(two_agents.shop)
    give_room(stage)
    stage.commit("T-2")
    refuse(stage, "T-1")
    loop.tick()
    desk.cancel(stage.desk(), "T-1")
    desk.cancel(stage.desk(), "T-3")
    queue.add(stage.store, repo="till", agent="other")
    queue.add(stage.store, repo="shop")
    stage.clock.advance(16)
    loop.tick()
    assert (stage.state("T-4"), stage.state("T-5")) == (State.RUNNING, State.QUEUED)
    set_clock(stage, loop, by_s)
    stage.clock.advance(60)
    loop.tick()
    assert stage.state("T-5") is State.QUEUED
    with stage.store.read() as conn:
        (hold,) = (one for one in queries_host.holds(conn) if one.scope == "agent:scripted")
    assert stage.claim_of("T-4").attempt.run_id in hold.cause
    refuse(stage, "T-4")
    loop.tick()
    assert stage.state("T-4") is State.PARKED, "it was read again, and refused again"
    stage.clock.advance(25 * 60)
    loop.tick()
    assert stage.state("T-5") is State.QUEUED


@pytest.mark.field_report("DMN-003")
def test_an_account_that_is_accepted_again_is_free_also_where_the_agent_that_was_refused_has_nothing_to_do(
    two_agents: Stage,
) -> None:
    stage, loop = two_agents, Loop(two_agents.shop)
    give_room(stage)
    stage.commit("T-2")
    refuse(stage, "T-1")
    loop.tick()
    desk.cancel(stage.desk(), "T-1")
    desk.cancel(stage.desk(), "T-3")
    for repo in ("till", "till", "shop"):
        queue.add(stage.store, repo=repo, agent="other")
    stage.clock.advance(16)
    loop.tick()
    stage.commit("T-4")
    for _ in range(3):
        stage.clock.advance(3)
        loop.tick()
    assert (stage.state("T-5"), stage.state("T-6")) == (State.RUNNING, State.RUNNING)


@pytest.mark.field_report("DMN-003")
def test_another_ticket_that_meets_what_was_read_again_in_vain_waits_at_once(two_agents: Stage) -> None:
    stage, loop = two_agents, Loop(two_agents.shop)
    stage.commit("T-2")
    refuse(stage, "T-1")
    loop.tick()
    stage.clock.advance(16)
    loop.tick()
    (trying,) = running(stage)
    refuse(stage, trying)
    loop.tick()
    assert queue.look(stage.store, trying).state is State.PARKED
    stage.clock.advance(31 * 60)
    loop.tick()
    (probing,) = running(stage)
    refuse(stage, probing)
    loop.tick()
    ticket = queue.look(stage.store, probing)
    assert (ticket.state, ticket.waiting_for) == (State.PARKED, WaitingFor.CREDENTIAL)


@pytest.mark.field_report("DMN-003")
def test_two_runs_on_one_account_never_start_in_the_same_moment(two_agents: Stage) -> None:
    with two_agents.store.read() as conn:
        starts = sorted(
            live.attempt.started_ms for live in queries_host.facts(conn, two_agents.clock.now_ms()).running
        )
    assert starts[1] - starts[0] == 2_000
