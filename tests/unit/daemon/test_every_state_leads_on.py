"""From every state that is not final something leads on: an end, a timer, a start, or a person's command.

Nobody but the loop acts here; what must act by itself does so within the longest back-off.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.config import logs
from autopilot.daemon import acts, view
from autopilot.daemon.decide_publish import FEW_DEFERRALS, MANY_DEFERRALS, MAX_LOSSES
from autopilot.daemon.digest import gather, render
from autopilot.daemon.loop import Loop
from autopilot.daemon.next_command import next_command
from autopilot.daemon.store import queries_tickets, writes
from autopilot.daemon.watch import Ending
from autopilot.schemas.events import Event
from autopilot.schemas.machine import FINAL_STATES, MOVES, State, WaitingFor
from autopilot.schemas.publication import PublishOutcome
from autopilot.schemas.run import Outcome, Usage
from tests.support import queue
from tests.support.in_order import assert_in_order
from tests.support.shop import Stage

LONGEST_S = 1800.0
RESTS = FINAL_STATES | {State.PARKED}
DEATHS = {
    "code 1": Ending("the process ended with code 1"),
    "a segmentation fault": Ending("the process was killed by signal 11"),
    "gone": Ending("the process is gone"),
    "overdue": Ending("the process outlived its 4h and was killed", is_overdue=True),
    "stopped by us": Ending("the process was killed by signal 15", asked="switched off"),
}
ROOMY = "cost_ceiling_usd = 1000\nticket_ceiling_usd = 1000\n"


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path, config=ROOMY)
    logs.setup(stage.paths.logs, clock=stage.clock, stderr=False, level="info", max_size_mib=1, keep_files=1)
    writes.turn_on(stage.store, by="test")
    yield stage
    assert_in_order(stage.store)
    stage.store.close()


def begin(stage: Stage) -> Loop:
    loop = Loop(stage.shop)
    queue.add(stage.store)
    loop.tick()
    assert stage.state() is State.RUNNING
    return loop


def goes_on(stage: Stage, loop: Loop, before: State) -> State:
    """What becomes of it by itself, in the time of the longest back-off and of the breaker's longest rest.

    A run that is given back without a wait is followed by the next one in the very same tick.
    """
    runs = queue.look(stage.store, "T-1").sessions
    for _ in range(10):
        loop.tick()
        ticket = queue.look(stage.store, "T-1")
        if ticket.state in RESTS or ticket.state is not before or ticket.sessions > runs:
            return ticket.state
        stage.clock.advance(LONGEST_S)
    pytest.fail(f"it is {stage.state()} for ever")


def until_rest(stage: Stage, loop: Loop, end: str | Outcome) -> State:
    """Let every run of the ticket end like this until nothing moves it any more."""
    for _ in range(stage.shop.rules.sessions_per_ticket + 1):
        if stage.state() is State.QUEUED and goes_on(stage, loop, State.QUEUED) in RESTS:
            break
        if stage.state() is not State.RUNNING:
            break
        end_run(stage, end)
        goes_on(stage, loop, State.RUNNING)
    return stage.state()


def end_run(stage: Stage, end: str | Outcome) -> None:
    claim = stage.claim_of("T-1")
    if isinstance(end, Outcome):
        told = queue.result(claim, end, base="main", questions=("Why?",), usage=Usage(known=True))
        stage.hand_in(told)
    else:
        stage.supervisor.end(claim.attempt.run_id, DEATHS[end])


@pytest.mark.field_report("DMN-027")
@pytest.mark.parametrize("end", [*DEATHS, *Outcome])
def test_dmn_027_however_a_run_ends_its_ticket_does_not_stay_running(
    stage: Stage, end: str | Outcome
) -> None:
    """DMN-027: a plain crash put the task on 'retrying', and nothing ever started it again."""
    loop = begin(stage)
    end_run(stage, end)
    goes_on(stage, loop, State.RUNNING)
    assert queue.attempts(stage.store, queue.look(stage.store, "T-1"))[0].state == "finished"


@pytest.mark.field_report("DMN-027", "DMN-041")
@pytest.mark.parametrize("end", [*DEATHS, *Outcome])
def test_a_ticket_whose_runs_all_end_alike_rests_with_its_reason_in_history_and_digest(
    stage: Stage, end: str | Outcome
) -> None:
    """DMN-041: a path set 'blocked' without the event that the watchers listened to; 16 tickets lay dead."""
    loop = begin(stage)
    if until_rest(stage, loop, end) is State.PUBLISHING:
        stage.publish()
        goes_on(stage, loop, State.PUBLISHING)
        assert end is Outcome.COMMITTED
        assert stage.state() is State.PUBLISHED
        return
    assert_told_everywhere(stage)


@pytest.mark.field_report("DMN-041")
@pytest.mark.parametrize("outcome", [None, PublishOutcome.VERIFICATION_FAILED])
def test_dmn_041_a_publication_that_parks_its_ticket_is_told_of_everywhere(
    stage: Stage, outcome: PublishOutcome | None
) -> None:
    loop = begin(stage)
    stage.commit()
    loop.tick()
    while stage.state() is State.PUBLISHING:
        if outcome is None:
            stage.supervisor.end(stage.publication().id)
        else:
            stage.publish(outcome)
        if goes_on(stage, loop, State.PUBLISHING) is State.COMMITTED:
            goes_on(stage, loop, State.COMMITTED)
    assert stage.state() is State.PARKED
    assert_told_everywhere(stage)


def assert_told_everywhere(stage: Stage) -> None:
    """Ticket, history, log, `status` and the next digest agree on the state and its reason."""
    ticket = queue.look(stage.store, "T-1")
    assert ticket.state in {State.PARKED, State.FAILED}
    assert next_command("T-1", ticket.state, ticket.waiting_for)
    lines = map(json.loads, (stage.paths.logs / "autopilot.jsonl").read_text().splitlines())
    moves = [line for line in lines if line["event"] in {Event.TICKET_PARKED, Event.TICKET_MOVED}]
    is_parked = ticket.state is State.PARKED
    assert moves[-1]["event"] == (Event.TICKET_PARKED if is_parked else Event.TICKET_MOVED)
    assert (moves[-1]["ticket"], moves[-1]["to_state"]) == ("T-1", ticket.state.value)
    assert ticket.reason in moves[-1]["reason"]
    shown = view.status(stage.desk())
    assert shown["counts"][ticket.state.value] == 1
    parked = [(one["id"], one["waiting_for"], one["reason"]) for one in shown["parked"]]
    assert parked == ([("T-1", ticket.waiting_for, ticket.reason)] if is_parked else [])
    with stage.store.read() as conn:
        last = queries_tickets.history(conn, "T-1")[-1]
    assert last.to_state is ticket.state
    assert ticket.reason
    assert ticket.reason in last.reason
    stage.clock.advance(30 * 24 * 3600 if ticket.state is State.PARKED else 3600)
    night = gather.night(stage.desk(), since_ms=stage.clock.now_ms() - gather.DAY_MS)
    assert {"parked": night.parked, "failed": night.failed}[ticket.state.value] == (ticket,)
    (told,) = render.as_json(night)[ticket.state.value]
    assert told["reason"] == ticket.reason
    assert "**T-1**" in render.markdown(night)


@pytest.mark.field_report("DMN-027")
@pytest.mark.parametrize("end", [*DEATHS, *Outcome])
def test_dmn_027_what_ended_while_no_daemon_lived_is_judged_at_the_next_start(
    stage: Stage, end: str | Outcome
) -> None:
    begin(stage)
    end_run(stage, end)
    stage.supervisor.forget(stage.claim_of("T-1").attempt.run_id)
    Loop(stage.shop).recover()
    assert stage.state() is not State.RUNNING


@pytest.mark.parametrize("outcome", [None, *PublishOutcome])
def test_however_a_publication_ends_its_ticket_comes_to_rest(
    stage: Stage, outcome: PublishOutcome | None
) -> None:
    loop = begin(stage)
    stage.commit()
    loop.tick()
    for _ in range(max(MAX_LOSSES, MANY_DEFERRALS) + 1):
        if stage.state() is not State.PUBLISHING:
            break
        if outcome is None:
            stage.supervisor.end(stage.publication().id)
        else:
            stage.publish(outcome)
        if goes_on(stage, loop, State.PUBLISHING) is State.COMMITTED:
            assert goes_on(stage, loop, State.COMMITTED) is State.PUBLISHING
    assert stage.state() in RESTS


def test_a_publication_that_is_put_off_for_a_day_waits_for_a_person_and_is_tried_as_long_again(
    stage: Stage,
) -> None:
    loop = begin(stage)
    stage.commit()
    loop.tick()
    tries = put_off_until_rest(stage, loop)
    ticket = queue.look(stage.store, "T-1")
    assert (ticket.state, ticket.waiting_for) == (State.PARKED, WaitingFor.PUBLISH_DEFERRED)
    assert FEW_DEFERRALS <= tries <= MANY_DEFERRALS
    told = view.why(stage.desk(), "T-1")
    assert ticket.reason in str(told)
    night = gather.night(stage.desk(), since_ms=0)
    assert "waits for publish-deferred" in render.markdown(night)
    acts.resume(stage.store, "T-1", by="test")
    loop.tick()
    again = put_off_until_rest(stage, loop)
    assert abs(again - tries) <= tries // 2
    assert queue.look(stage.store, "T-1").sessions == 1


def put_off_until_rest(stage: Stage, loop: Loop) -> int:
    """Let every publisher be put off; gives how many there were."""
    for tries in range(1, MANY_DEFERRALS + 2):
        stage.publish(PublishOutcome.PUBLISH_DEFERRED)
        loop.tick()
        if stage.state() in RESTS:
            return tries
        assert goes_on(stage, loop, State.COMMITTED) is State.PUBLISHING
    pytest.fail("it is put off for ever")


@pytest.mark.parametrize("waiting_for", WaitingFor)
def test_what_waits_for_a_person_names_a_command_that_moves_it(stage: Stage, waiting_for: WaitingFor) -> None:
    told = next_command("T-1", State.PARKED, waiting_for)
    assert told is not None
    assert told.split()[1] in {"answer", "resume", "retry"}
    assert {trigger for state, trigger in MOVES if state is State.PARKED}


@pytest.mark.covers("B09")
def test_what_a_breaker_parked_is_never_released_by_a_restart_or_by_time(stage: Stage) -> None:
    loop = begin(stage)
    end_run(stage, Outcome.GATES_FAILED)
    loop.tick()
    before = queue.look(stage.store, "T-1")
    assert (before.state, before.waiting_for) == (State.PARKED, WaitingFor.BREAKER)
    for _ in range(20):
        loop = Loop(stage.shop)
        loop.recover()
        loop.tick()
        stage.clock.advance(12 * 3600)
        loop.tick()
    assert queue.look(stage.store, "T-1") == before
    assert acts.retry(stage.store, "T-1", by="me").state is State.QUEUED


def test_no_state_is_left_by_nobody() -> None:
    for state in State:
        is_left = any(source is state for source, _ in MOVES)
        assert is_left == (state is not State.PUBLISHED)
