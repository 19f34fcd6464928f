"""`kill -9` at every step of the path of a ticket, then a restart: one draft, paid for once, all in order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.schemas.events import Event
from autopilot.schemas.machine import Trigger
from tests.support.house import House

DAEMON_STEPS: list[tuple[Event, dict[str, str]]] = [
    (Event.TICKET_ENQUEUED, {}),
    (Event.TICKET_CLAIMED, {}),
    (Event.RUN_STARTED, {}),
    (Event.TICKET_MOVED, {"trigger": Trigger.PASS}),
    (Event.TICKET_MOVED, {"trigger": Trigger.BEGIN_PUBLISH}),
    (Event.PUBLISH_STARTED, {}),
    (Event.PUBLISH_FINISHED, {}),
    (Event.TICKET_MOVED, {"trigger": Trigger.PUBLISH_DONE}),
]
RUN_STEPS = [
    Event.WORKTREE_CREATED,
    Event.BASELINE_MEASURED,
    Event.AGENT_STARTED,
    Event.AGENT_SPENT,
    Event.COMMIT_MADE,
    Event.PR_REQUESTED,
    Event.RUN_FINISHED,
]
PUBLISH_STEPS = [
    Event.PUBLISH_STARTED,
    Event.PUBLISH_CHECKED,
    Event.PUBLISH_PUSHED,
    Event.PUBLISH_PR_OPENED,
]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    yield house
    house.clean_up()


def assert_one_draft(house: House, name: str) -> None:
    ticket = house.daemon.wait_for_state(name, "published", "parked", "failed")
    assert ticket["state"] == "published", ticket
    house.assert_in_order()
    (draft,) = house.pull_requests()
    assert (draft.head, draft.draft) == (ticket["head"], True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "facts"),
    DAEMON_STEPS,
    ids=lambda value: value.get("trigger", "") if isinstance(value, dict) else value,
)
def test_a_daemon_killed_at_a_step_of_its_own_takes_the_ticket_up_where_it_was(
    house: House, event: Event, facts: dict[str, str]
) -> None:
    house.begin()
    name = house.add()
    house.daemon.wait_for_event(event, facts)
    house.daemon.kill()
    house.daemon.start()
    assert_one_draft(house, name)
    assert house.count(Event.AGENT_STARTED) <= (2 if event is Event.TICKET_CLAIMED else 1)


@pytest.mark.slow
@pytest.mark.parametrize("event", RUN_STEPS)
def test_a_daemon_killed_while_a_run_is_at_some_step_adopts_the_run_and_the_agent_is_paid_once(
    house: House, event: Event
) -> None:
    house.begin()
    name = house.add()
    house.wait_for_journal(event)
    house.daemon.kill()
    house.daemon.start()
    assert_one_draft(house, name)
    assert house.count(Event.AGENT_STARTED) == 1


@pytest.mark.slow
@pytest.mark.parametrize("event", PUBLISH_STEPS)
def test_a_daemon_killed_while_a_publisher_is_at_some_step_opens_no_second_draft(
    house: House, event: Event
) -> None:
    house.begin()
    name = house.add()
    house.wait_for_journal(event)
    house.daemon.kill()
    house.daemon.start()
    assert_one_draft(house, name)
    assert house.count(Event.AGENT_STARTED) == 1


@pytest.mark.slow
@pytest.mark.parametrize("event", RUN_STEPS[:-1])
def test_a_runner_killed_at_some_step_is_lost_and_the_next_one_finishes(house: House, event: Event) -> None:
    house.begin()
    name = house.add()
    house.wait_for_journal(event)
    house.kill_runner()
    assert_one_draft(house, name)


@pytest.mark.slow
@pytest.mark.parametrize("event", PUBLISH_STEPS)
def test_a_publisher_killed_at_some_step_is_started_again_and_the_agent_is_not(
    house: House, event: Event
) -> None:
    house.begin()
    name = house.add()
    house.wait_for_journal(event)
    house.kill_publisher()
    assert_one_draft(house, name)
    assert house.count(Event.AGENT_STARTED) == 1


@pytest.mark.slow
@pytest.mark.parametrize("event", [Event.WORKTREE_CREATED, Event.AGENT_SPENT, Event.COMMIT_MADE])
def test_daemon_and_runner_killed_together_leave_a_loss_and_no_process(house: House, event: Event) -> None:
    house.begin()
    name = house.add()
    house.wait_for_journal(event)
    house.kill_runner()
    house.daemon.kill()
    house.daemon.start()
    assert_one_draft(house, name)


@pytest.mark.slow
@pytest.mark.parametrize("event", [Event.PUBLISH_CHECKED, Event.PUBLISH_PUSHED, Event.PUBLISH_PR_OPENED])
def test_daemon_and_publisher_killed_together_leave_one_draft(house: House, event: Event) -> None:
    house.begin()
    name = house.add()
    house.wait_for_journal(event)
    house.kill_publisher()
    house.daemon.kill()
    house.daemon.start()
    assert_one_draft(house, name)
    assert house.count(Event.AGENT_STARTED) == 1


def test_a_daemon_killed_again_and_again_at_every_step_it_reaches_still_ends_with_one_draft(
    house: House,
) -> None:
    house.begin()
    name = house.add()
    for event, facts in DAEMON_STEPS[1:]:
        house.daemon.wait_for_event(event, facts)
        house.daemon.kill()
        house.daemon.start()
    assert_one_draft(house, name)
