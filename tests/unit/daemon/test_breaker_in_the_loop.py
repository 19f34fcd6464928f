"""The breaker under a loop: it rests, tries once, survives restarts and clocks, and holds up no clean-up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config import logs
from autopilot.daemon import view
from autopilot.daemon.breaker import HOST
from autopilot.daemon.cli import status
from autopilot.daemon.digest import gather, render
from autopilot.daemon.loop import Loop
from autopilot.daemon.nightly import write_digest_if_due
from autopilot.daemon.standstill import HOLD
from autopilot.daemon.store import queries_host, queries_runs, writes
from autopilot.daemon.store.queries_tickets import counts
from autopilot.daemon.store.rows import Breaker
from autopilot.schemas.events import Event
from autopilot.schemas.machine import State
from autopilot.schemas.run import CONTENTION_CODES, Outcome
from tests.support import queue
from tests.support.in_order import assert_in_order
from tests.support.shop import Stage

REST_S = 1800
AGENT = "agent:scripted"
CONFIG = "attempts_per_ticket = 1\ncost_ceiling_usd = 1000\nper_repo_parallel = 0\n"
ALERTS = {Event.BREAKER_OPENED, Event.BREAKER_PROBED, Event.BREAKER_CLOSED}


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path, config=CONFIG)
    logs.setup(stage.paths.logs, clock=stage.clock, stderr=False, level="info", max_size_mib=1, keep_files=1)
    writes.turn_on(stage.store, by="test")
    yield stage
    assert_in_order(stage.store)
    stage.store.close()


def running(stage: Stage) -> list[str]:
    with stage.store.read() as conn:
        return [live.ticket.id for live in queries_runs.running(conn)]


def row(stage: Stage) -> Breaker:
    with stage.store.read() as conn:
        return queries_host.breaker(conn, AGENT)


def end(stage: Stage, name: str, outcome: Outcome) -> None:
    stage.hand_in(queue.result(stage.claim_of(name), outcome, base="main"))


def trip(stage: Stage, loop: Loop) -> None:
    """Three attempts of one agent that come to nothing."""
    while row(stage).state == "closed":
        loop.tick()
        mine = [name for name in running(stage) if stage.claim_of(name).attempt.agent == "scripted"]
        end(stage, mine[0], Outcome.AGENT_FAILED)
        loop.tick()


def alerts(stage: Stage) -> list[str]:
    lines = (stage.paths.logs / "autopilot.jsonl").read_text().splitlines()
    return [line["event"] for line in map(json.loads, lines) if line["event"] in ALERTS]


def settle(stage: Stage, loop: Loop) -> None:
    """End what ran beside the third failure, well enough to say nothing."""
    for name in running(stage):
        end(stage, name, Outcome.STOPPED)
    loop.tick()


@pytest.mark.field_report("DMN-037")
@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("jump_s", [0, -3600])
def test_dmn_037_after_its_rest_exactly_one_run_tries_and_closes_it(
    stage: Stage, *, restarted: bool, jump_s: int
) -> None:
    """DMN-037: the breaker never tried again; only a restart of the process helped."""
    loop = Loop(stage.shop)
    for _ in range(8):
        queue.add(stage.store)
    trip(stage, loop)
    settle(stage, loop)
    assert running(stage) == []
    if restarted:
        loop = Loop(stage.shop)
        loop.recover()
        loop.tick()
        assert (running(stage), row(stage).state) == ([], "open")
    if jump_s == 0:
        stage.clock.advance(REST_S - 1)
        loop.tick()
        assert running(stage) == []
        stage.clock.advance(1)
    else:
        stage.clock.advance(REST_S)
        stage.clock.jump_wall(jump_s)
    loop.tick()
    stage.clock.advance(60)
    loop.tick()
    assert len(running(stage)) == 1, "one tries, the others wait"
    assert row(stage).state == "half-open"
    end(stage, running(stage)[0], Outcome.COMMITTED)
    loop.tick()
    assert row(stage).state == "closed"
    assert len(running(stage)) == stage.shop.rules.max_parallel_agents


@pytest.mark.field_report("DMN-037")
def test_dmn_037_what_runs_and_what_is_committed_is_finished_while_it_is_open(stage: Stage) -> None:
    loop = Loop(stage.shop)
    queue.add(stage.store, "Slow", repo="till", agent="other")
    for _ in range(4):
        queue.add(stage.store, repo="shop")
    loop.tick()
    trip(stage, loop)
    assert "T-1" in running(stage)
    for one in running(stage):
        if one != "T-1":
            end(stage, one, Outcome.STOPPED)
    end(stage, "T-1", Outcome.COMMITTED)
    loop.tick()
    assert (stage.state("T-1"), row(stage).state) == (State.PUBLISHING, "open")
    stage.publish()
    loop.tick()
    assert stage.state("T-1") is State.PUBLISHED
    loop = Loop(stage.shop)
    loop.recover()
    assert row(stage).state == "open"


@pytest.mark.field_report("DMN-037")
def test_dmn_037_a_probe_that_died_with_the_daemon_is_waited_for_by_nobody(stage: Stage) -> None:
    loop = Loop(stage.shop)
    for _ in range(6):
        queue.add(stage.store)
    trip(stage, loop)
    settle(stage, loop)
    stage.clock.advance(REST_S)
    loop.tick()
    (probe,) = running(stage)
    run_id = stage.claim_of(probe).attempt.run_id
    stage.supervisor.end(run_id)
    stage.supervisor.forget(run_id)
    loop = Loop(stage.shop)
    loop.recover()
    loop.tick()
    stage.clock.advance(4 * 3600)
    loop.tick()
    # A lost runner is a failure of the host and none of the agent, which closes: as many run as may.
    assert (row(stage).state, len(running(stage))) == ("closed", stage.shop.settings.max_parallel_agents)


@pytest.mark.field_report("GIT-020")
@pytest.mark.parametrize("code", sorted(CONTENTION_CODES))
def test_git_020_lost_races_for_a_lock_open_no_breaker_and_use_no_attempt(stage: Stage, code: str) -> None:
    """GIT-020: the loser of a race for a mirror failed its ticket and counted towards the breaker."""
    loop = Loop(stage.shop)
    name = queue.add(stage.store).id
    for lost in range(1, 5):
        stage.clock.advance(3600)
        loop.tick()
        stage.hand_in(queue.result(stage.claim_of(name), Outcome.INFRASTRUCTURE, code=code))
        loop.tick()
        ticket = queue.look(stage.store, name)
        assert (ticket.state, ticket.attempts, ticket.releases) == (State.QUEUED, 0, lost)
    with stage.store.read() as conn:
        rows = [queries_host.breaker(conn, scope) for scope in (HOST, AGENT, f"repo:{ticket.repo}")]
    assert [(row.state, row.failures) for row in rows] == [("closed", 0)] * 3


@pytest.mark.field_report("DMN-038")
def test_dmn_038_each_transition_is_told_once_and_status_says_why_and_when_it_is_tried_again(
    stage: Stage,
) -> None:
    """DMN-038: a breaker blocked the night's tasks for hours, and nobody was told."""
    loop = Loop(stage.shop)
    for _ in range(13):
        queue.add(stage.store)
    trip(stage, loop)
    settle(stage, loop)
    for _ in range(20):
        loop.tick()
    assert alerts(stage) == [Event.BREAKER_OPENED]
    shown = view.status(stage.desk())
    (hold,) = [hold for hold in shown["holds"] if hold["name"] == "breaker-open"]
    assert hold["clears_ms"] == row(stage).cooldown_until_ms
    text = "\n".join(status.lines(shown))
    assert "3 attempts in a row produced nothing (agent-failed)" in text
    assert "clears 20" in text
    night = gather.night(stage.desk(), since_ms=stage.clock.now_ms() + 1)
    assert "breaker-open" in render.markdown(night)
    with stage.store.read() as conn:
        assert counts(conn)[State.QUEUED] == 10
    stage.clock.advance(REST_S)
    loop.tick()
    end(stage, running(stage)[0], Outcome.AGENT_FAILED)
    loop.tick()
    stage.clock.advance(2 * REST_S)
    loop.tick()
    end(stage, running(stage)[0], Outcome.COMMITTED)
    loop.tick()
    assert alerts(stage) == [
        Event.BREAKER_OPENED,
        Event.BREAKER_PROBED,
        Event.BREAKER_OPENED,
        Event.BREAKER_PROBED,
        Event.BREAKER_CLOSED,
    ]


@pytest.mark.field_report("DMN-038")
def test_dmn_038_status_tells_of_the_next_try_also_when_nothing_waits(stage: Stage) -> None:
    loop = Loop(stage.shop)
    for _ in range(3):
        queue.add(stage.store)
    trip(stage, loop)
    settle(stage, loop)
    shown = view.status(stage.desk()) | {"holds": []}
    text = "\n".join(status.lines(shown))
    assert "agent:scripted: 3 attempts produced nothing (agent-failed), one run may try again 20" in text


@pytest.mark.field_report("DMN-038")
def test_dmn_038_the_digest_of_a_night_in_which_nothing_started_says_why_and_when_it_is_tried_again(
    tmp_path: Path,
) -> None:
    rests = "breaker.cooldown_s = 14400\nbreaker.cooldown_cap_s = 14400\n"
    stage = Stage(tmp_path, config=CONFIG + rests)
    logs.setup(stage.paths.logs, clock=stage.clock, stderr=False, level="info", max_size_mib=1, keep_files=1)
    loop = Loop(stage.shop, chores=[write_digest_if_due])
    loop.tick()
    writes.turn_on(stage.store, by="test")
    for _ in range(3):
        queue.add(stage.store)
    stage.clock.advance(4 * 3600)
    trip(stage, loop)
    started = len(stage.run_specs())
    for _ in range(10):
        queue.add(stage.store)
    for _ in range(int(3.5 * 60)):
        stage.clock.advance(60)
        loop.tick()
    assert (len(stage.run_specs()), row(stage).state) == (started, "open")
    (file,) = stage.paths.digests.glob("*.md")
    told = file.read_text()
    assert "10 did not run" in told
    assert told.count("breaker-open") == 11, "the hold, and each ticket that waits for it"
    assert "3 attempts in a row produced nothing (agent-failed)" in told
    assert "clears 2026-01-02 08:00 UTC" in told
    assert "autopilot breaker reset agent:scripted" in told
    assert alerts(stage) == [Event.BREAKER_OPENED]
    assert HOLD not in stage.hold_names(), "what is held is no standstill"
    assert_in_order(stage.store)
    stage.store.close()
