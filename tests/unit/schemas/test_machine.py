from __future__ import annotations

import pytest

from autopilot.schemas.machine import FINAL_STATES, MOVES, State, Trigger, target

LIFE = """
-           enqueue         queued
queued      claim           running
queued      park            parked
queued      cancel          cancelled
running     pass            committed
running     retry           queued
running     release         queued
running     park            parked
running     fail            failed
running     cancel          cancelled
committed   begin_publish   publishing
committed   park            parked
committed   cancel          cancelled
publishing  publish_done    published
publishing  publish_later   committed
publishing  park            parked
parked      resume_run      queued
parked      resume_publish  committed
parked      cancel          cancelled
failed      requeue         queued
cancelled   requeue         queued
"""
ROWS = [tuple(line.split()) for line in LIFE.strip().splitlines()]
ALLOWED = {(start, trigger) for start, trigger, _ in ROWS}
EVERY_PAIR = [(start, trigger) for start in (None, *State) for trigger in Trigger]


def named(state: State | None) -> str:
    return state.value if state else "-"


@pytest.mark.parametrize(("start", "trigger", "end"), ROWS)
def test_each_move_of_the_table_leads_where_the_story_says(start: str, trigger: str, end: str) -> None:
    state = None if start == "-" else State(start)
    assert target(state, Trigger(trigger)) is State(end)


@pytest.mark.parametrize(("state", "trigger"), EVERY_PAIR)
def test_every_pair_that_is_not_in_the_table_is_no_move(state: State | None, trigger: Trigger) -> None:
    assert (target(state, trigger) is not None) == ((named(state), trigger.value) in ALLOWED)


def test_the_table_holds_nothing_that_the_story_does_not_tell() -> None:
    assert len(MOVES) == len(ROWS)


def test_every_state_can_be_reached_from_nothing() -> None:
    reached: set[State | None] = {None}
    for _ in State:
        reached |= {end for (start, _), end in MOVES.items() if start in reached}
    assert reached == {None, *State}


def test_every_resting_state_that_is_not_final_can_be_left_and_ends_somewhere_final() -> None:
    ends: set[State | None] = set(FINAL_STATES)
    for _ in State:
        ends |= {start for (start, _), end in MOVES.items() if end in ends}
    assert ends >= set(State)


def test_a_published_ticket_is_moved_by_nobody_and_other_ends_only_by_a_requeue() -> None:
    ways_out = {(state, trigger) for state, trigger in MOVES if state in FINAL_STATES}
    assert ways_out == {(State.FAILED, Trigger.REQUEUE), (State.CANCELLED, Trigger.REQUEUE)}


def test_every_trigger_moves_something() -> None:
    assert {trigger for _, trigger in MOVES} == set(Trigger)


def test_the_table_cannot_be_changed_by_a_caller() -> None:
    with pytest.raises(TypeError):
        MOVES[State.PUBLISHED, Trigger.CLAIM] = State.RUNNING  # type: ignore[index]


def test_a_finished_commit_never_goes_back_to_the_agent_by_itself() -> None:
    back = {
        (start, trigger) for (start, trigger), end in MOVES.items() if end in {State.QUEUED, State.RUNNING}
    }
    assert not {pair for pair in back if pair[0] in {State.COMMITTED, State.PUBLISHING}}
