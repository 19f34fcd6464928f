"""`kill -9` of the daemon at the large steps of a ticket's path: the quick one of the crash tests.

Every step, and the other processes: `test_every_step.py`.
"""

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
