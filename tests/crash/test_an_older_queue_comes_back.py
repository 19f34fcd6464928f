"""A backup is restored after the work went on: nothing is published twice, and no run is believed to live."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.schemas.events import Event
from autopilot.schemas.machine import Trigger
from tests.support.house import House

AGENT_COST = 20_000
CHEAP = "run_ceiling_usd = 1\n"
"""A lost run is charged its reservation, twice where its loss is met again after a restore: well below the
ticket's ceiling."""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path, settings=CHEAP)
    yield house
    house.clean_up()


def go_back(house: House) -> None:
    """Stop the daemon, restore the newest backup, and let the night go on."""
    assert house.daemon.stop() == 0, house.daemon.said()
    done = house.daemon.autopilot("restore")
    assert done.returncode == 0, done.stderr
    house.begin()


def assert_one_draft(house: House, name: str) -> None:
    ticket = house.daemon.wait_for_state(name, "published", "parked", "failed")
    assert ticket["state"] == "published", (ticket["reason"], ticket["hint"])
    (draft,) = house.pull_requests()
    assert draft.draft
    assert house.remote_branches() == {draft.branch: ticket["head"]}


def money(house: House) -> int:
    """What the last 24 hours are known to have cost, in micro-dollars."""
    spent: int = house.daemon.call("GET", "/v1/status")["money"]["settled_micro_usd"]
    return spent


@pytest.mark.slow
@pytest.mark.field_report("DMN-025")
def test_dmn_025_a_ticket_that_was_published_after_the_backup_is_not_published_twice(house: House) -> None:
    house.daemon.start()
    name = house.add()
    assert house.daemon.autopilot("backup").returncode == 0
    house.daemon.call("POST", "/v1/switch", on=True, ignore_window=True)
    assert_one_draft(house, name)
    go_back(house)
    assert_one_draft(house, name)
    assert money(house) == 2 * AGENT_COST, "the run that the backup did not know was not counted"
    house.assert_in_order()


@pytest.mark.slow
def test_a_ticket_that_was_added_and_run_after_the_backup_is_there_again_cancelled_with_what_it_cost(
    house: House,
) -> None:
    house.begin()
    assert house.daemon.autopilot("backup").returncode == 0
    name = house.add("Not in the backup")
    assert_one_draft(house, name)
    go_back(house)
    ticket = house.daemon.ticket(name)
    assert (ticket["state"], ticket["title"]) == ("cancelled", "Not in the backup")
    assert money(house) == ticket["spent_micro_usd"] == AGENT_COST
    assert house.add("New").removeprefix("T-") > name.removeprefix("T-")
    house.daemon.call("POST", f"/v1/tickets/{name}/retry")
    house.daemon.wait_for_state(name, "published", "parked", "failed")
    house.daemon.wait_for_state("T-2", "published", "parked", "failed")
    assert len(house.pull_requests()) == 2
    house.assert_in_order()


@pytest.mark.slow
@pytest.mark.parametrize("trigger", [Trigger.CLAIM, Trigger.PASS, Trigger.BEGIN_PUBLISH], ids=str)
def test_a_backup_from_the_middle_of_a_tickets_path_ends_with_the_same_draft(
    house: House, trigger: Trigger
) -> None:
    house.begin()
    name = house.add()
    if trigger is Trigger.CLAIM:
        house.daemon.wait_for_event(Event.TICKET_CLAIMED)
    else:
        house.daemon.wait_for_event(Event.TICKET_MOVED, {"trigger": trigger})
    house.daemon.kill()
    assert house.daemon.autopilot("backup").returncode == 0
    house.daemon.start()
    assert_one_draft(house, name)
    go_back(house)
    assert_one_draft(house, name)


@pytest.mark.slow
def test_an_older_file_put_back_by_hand_takes_up_what_a_publication_left(house: House) -> None:
    go = house.folder / "go"
    house.add_agent("waits", [{"spend": {"usd": 0.01}}, {"wait_for_file": str(go)}, *house.mend()])
    house.begin()
    name = house.add(agent="waits")
    house.wait_for_journal(Event.AGENT_SPENT)
    old = house.folder / "old.db"
    assert house.daemon.autopilot("backup", "now", "--to", str(old)).returncode == 0
    go.touch()
    assert_one_draft(house, name)
    assert house.daemon.stop() == 0, house.daemon.said()
    for suffix in ("-wal", "-shm"):
        house.paths.database.with_name(f"autopilot.db{suffix}").unlink(missing_ok=True)
    house.paths.database.write_bytes(old.read_bytes())
    house.daemon.start()
    assert_one_draft(house, name)
    house.assert_in_order()
