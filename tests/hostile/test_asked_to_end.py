"""SIGTERM at any step: the daemon ends with 0, nothing is lost, no attempt is used, the next one finishes."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.schemas.errors import ExitCode
from autopilot.schemas.events import Event
from tests.support.house import House

IN_THE_LOG = (Event.TICKET_CLAIMED, Event.RUN_STARTED, Event.PUBLISH_STARTED)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def wait_for(house: House, event: Event) -> None:
    if event in IN_THE_LOG:
        house.daemon.wait_for_event(event)
    else:
        house.wait_for_journal(event)


@pytest.mark.parametrize(
    ("event", "drain_s"),
    [
        (Event.TICKET_CLAIMED, 0.1),
        (Event.AGENT_STARTED, 0.1),
        (Event.COMMIT_MADE, 0.1),
        (Event.PUBLISH_STARTED, 0.1),
        (Event.PUBLISH_PUSHED, 0.1),
        (Event.AGENT_STARTED, 60),
    ],
)
def test_a_daemon_asked_to_end_at_some_step_loses_nothing_and_burns_no_attempt(
    tmp_path: Path, event: Event, drain_s: float
) -> None:
    house = House(tmp_path, settings=f"daemon = {{ drain_s = {drain_s} }}\n")
    try:
        house.begin()
        name = house.add()
        wait_for(house, event)
        assert house.daemon.stop() == ExitCode.OK, house.daemon.said()
        assert house.daemon.live_runs() == set()
        house.daemon.start()
        ticket = house.daemon.wait_for_state(name, "published")
        assert ticket["attempts"] == 1
        assert ticket["losses"] == 0
        assert house.count(Event.AGENT_STARTED) <= 2
        assert len(house.pull_requests()) == 1
        if drain_s > 1:
            assert house.count(Event.AGENT_STARTED) == 1
        house.assert_in_order()
    finally:
        house.clean_up()
