"""After `kill -9` every ticket is judged before the daemon says that it is ready and before a run starts."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from autopilot.daemon.store import queries_runs
from autopilot.schemas.events import Event
from tests.support.house import House, Steps
from tests.support.wait import wait_until

SETTINGS = "max_parallel_agents = 3\nper_repo_parallel = 3\ndaemon = { poll_s = 600, drain_s = 60 }\n"
HANG: Steps = [{"spend": {"usd": 0.5}}, {"hang": True}]


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    return tmp_path / "go"


@pytest.fixture
def house(tmp_path: Path, gate: Path) -> Iterator[House]:
    waits: Steps = [{"spend": {"usd": 0.1}}, {"wait_for_file": str(gate)}]
    house = House(tmp_path, settings=SETTINGS, dies=HANG, lives=HANG, ends=waits)
    yield house
    house.clean_up()


def runner_of(house: House, name: str) -> tuple[int, Path]:
    """The pid and the folder of a ticket's runner."""
    with closing(house.daemon.store()) as store, store.read() as conn:
        attempt = queries_runs.attempts_of(conn, name)[-1]
    assert attempt.process is not None
    return attempt.process[0], house.paths.run_dir(attempt.run_id)


@pytest.mark.slow
def test_every_ticket_that_was_at_work_is_judged_or_adopted_before_the_daemon_is_ready(
    house: House, gate: Path
) -> None:
    house.begin()
    names = {agent: house.add(agent, agent=agent) for agent in ("dies", "lives", "ends")}
    house.wait_for_journal(Event.AGENT_SPENT, count=3)
    late = house.add("Later")
    house.daemon.kill()
    os.kill(runner_of(house, names["dies"])[0], signal.SIGKILL)
    gate.touch()
    result = runner_of(house, names["ends"])[1] / "result.json"
    wait_until(result.exists, 60, "it ends while no daemon lives")
    house.daemon.start()
    house.daemon.wait_for_event(Event.DAEMON_READY, count=2)  # it answers a moment before it says so
    lines = list(house.daemon.events())
    started = max(index for index, line in enumerate(lines) if line["event"] == Event.DAEMON_STARTED)
    after = lines[started:]
    ready = next(index for index, line in enumerate(after) if line["event"] == Event.DAEMON_READY)
    judged = [(line["event"], line.get("ticket")) for line in after[:ready]]
    assert (Event.RUN_ADOPTED, names["lives"]) in judged
    assert (Event.TICKET_MOVED, names["dies"]) in judged
    assert (Event.TICKET_PARKED, names["ends"]) in judged
    assert Event.TICKET_CLAIMED not in {event for event, _ in judged}
    house.daemon.wait_for_state(late, "published")
    for name in (names["dies"], names["lives"]):
        house.daemon.call("POST", f"/v1/tickets/{name}/cancel")
        house.daemon.wait_for_state(name, "cancelled")
    house.assert_in_order()


@pytest.mark.slow
@pytest.mark.field_report("DMN-019")
def test_a_manager_that_kills_daemon_runner_and_agent_at_once_costs_one_retry_and_leaves_nobody(
    house: House,
) -> None:
    house.begin()
    name = house.add("dies", agent="dies")
    house.wait_for_journal(Event.AGENT_SPENT)
    runner = psutil.Process(runner_of(house, name)[0])
    slice_of_ours = [runner, *runner.children(recursive=True)]
    house.daemon.kill()
    for process in slice_of_ours:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    house.daemon.start()
    house.wait_for_journal(Event.AGENT_SPENT, count=2)
    ticket = house.daemon.ticket(name)
    assert (ticket["state"], ticket["sessions"], ticket["losses"]) == ("running", 2, 1)
    assert ticket["spent_micro_usd"] > 0, "what it cost is kept"
    assert not any(process.is_running() for process in slice_of_ours)
    house.daemon.call("POST", f"/v1/tickets/{name}/cancel")
    house.daemon.wait_for_state(name, "cancelled")
    house.assert_in_order()
