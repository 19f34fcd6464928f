"""On, off, the hours, and cancel: what a person says holds, also over a restart."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from autopilot.schemas.events import Event
from tests.acceptance.conftest import MakePerson
from tests.support import agents
from tests.support.person import Person, Steps
from tests.support.small_project import small_project, small_repo
from tests.support.wait import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

MEND: Steps = [{"write": {"path": "answer.txt", "text": "right\n"}}, {"spend": {"usd": 0.25}}]


def waiting(go: Path) -> Steps:
    """Spends a little, then waits until the test says go, then mends."""
    return [{"spend": {"usd": 0.1}}, {"wait_for_file": str(go)}, *MEND]


@pytest.fixture
def go(tmp_path: Path) -> Path:
    return tmp_path / "go"


@pytest.fixture
def person(make_person: MakePerson, tmp_path: Path, go: Path) -> Person:
    return make_person(repos={"shop": small_repo(tmp_path / "shop")}, agents={"waiter": waiting(go)})


def has_spent(person: Person) -> None:
    """Wait until the agent is at work: its first spend has been written down."""

    def told() -> bool:
        return any(row["spent_micro_usd"] for row in person.daemon.call("GET", "/v1/status")["running"])

    wait_until(told, 60, "the agent has told what it spent")


def killed(person: Person) -> None:
    person.daemon.kill()
    person.daemon.start()


def stopped(person: Person) -> None:
    assert person.daemon.stop() == 0
    person.daemon.start()


def left_alone(person: Person) -> None:
    """No restart."""


RESTARTS = pytest.mark.parametrize("restart", [left_alone, stopped, killed])


@pytest.mark.covers("B01")
@RESTARTS
def test_turned_off_nothing_starts_and_what_runs_is_finished(
    person: Person, go: Path, restart: Callable[[Person], None]
) -> None:
    person.begins()
    first = person.adds("Mend it")
    has_spent(person)
    second = person.adds("Mend it again")
    if restart is stopped:
        go.touch()  # a daemon that is asked to stop waits for its runs
    person.does("off")
    restart(person)
    go.touch()
    assert person.waits(first)["state"] == "published"
    ticket = person.ticket(second)
    assert (ticket["state"], ticket["sessions"]) == ("queued", 0)
    assert "switch-off" in person.does("why", second)
    person.turns_on()
    assert person.waits(second)["state"] == "published"


@pytest.mark.covers("B01")
@pytest.mark.parametrize("how", [("--now",), ("--drain", "1s")], ids=["at once", "after a while"])
def test_turned_off_for_good_a_run_is_stopped_and_given_back_without_an_attempt(
    person: Person, go: Path, how: tuple[str, ...]
) -> None:
    person.begins()
    name = person.adds("Mend it")
    has_spent(person)
    person.does("off", *how)
    ticket = person.waits(name, "queued", "failed", "parked")
    assert (ticket["state"], ticket["attempts"], ticket["releases"]) == ("queued", 0, 1)
    assert person.daemon.live_runs() == set()
    assert ticket["spent_micro_usd"] == 100_000
    assert "switch-off" in person.does("why", name)
    go.touch()
    person.turns_on()
    ended = person.waits(name)
    assert (ended["state"], ended["attempts"]) == ("published", 1)
    assert len(person.drafts("shop")) == 1


@RESTARTS
def test_outside_its_hours_nothing_starts_until_a_person_says_now(
    make_person: MakePerson, tmp_path: Path, restart: Callable[[Person], None]
) -> None:
    opens = datetime.now(UTC) + timedelta(hours=2)
    window = f"{opens:%H:%M}-{opens + timedelta(hours=1):%H:%M}"
    mender = agents.mends(tmp_path / "agents", small_project())
    person = make_person(
        repos={"shop": small_repo(tmp_path / "shop")},
        agents={"mender": mender},
        schedule={"window": window, "timezone": "UTC"},
    )
    person.daemon.start()
    person.does("on")
    name = person.adds("Mend it")
    hold = person.waits_for_hold("outside-window")
    assert hold["clears_ms"] == int(opens.replace(second=0, microsecond=0).timestamp() * 1000)
    restart(person)
    assert {one["name"] for one in person.asks("why", name)["holds"]} == {"outside-window"}
    assert person.ticket(name)["sessions"] == 0
    person.does("on", "--now")
    assert person.waits(name)["state"] == "published"
    restart(person)
    assert person.waits(person.adds("Mend it again"))["state"] == "published"


def test_on_for_a_while_turns_off_by_itself(make_person: MakePerson, tmp_path: Path) -> None:
    mender = agents.mends(tmp_path / "agents", small_project())
    person = make_person(repos={"shop": small_repo(tmp_path / "shop")}, agents={"mender": mender})
    person.daemon.start()
    person.does("on", "--now", "--for", "1s")
    until_ms = person.asks("status")["switch"]["until_ms"]
    wait_until(lambda: person.asks("status")["now_ms"] > until_ms, 30, "the time is over")
    name = person.adds("Mend it")
    assert "it was on until" in person.waits_for_hold("switch-off")["cause"]
    assert person.ticket(name)["sessions"] == 0


@pytest.mark.covers("B18")
@pytest.mark.field_report("AGT-010")
def test_cancelling_a_running_ticket_ends_its_whole_tree_and_then_the_ticket(
    make_person: MakePerson, tmp_path: Path
) -> None:
    clinging = agents.leaves_grandchild(tmp_path / "agents", holds_output=True, stays=True)
    person = make_person(repos={"shop": small_repo(tmp_path / "shop")}, agents={"clinging": clinging})
    person.begins()
    name = person.adds("Mend it")
    try:
        wait_until(lambda: len(clinging.noted_pids()) == 2, 60, "agent and grandchild are there")
        assert len(clinging.living()) == 2
        assert "will be stopped" in person.does("cancel", name)
        assert person.waits(name)["state"] == "cancelled"
        assert clinging.living() == []
        assert person.daemon.live_runs() == set()
    finally:
        clinging.end_leftovers()
    person.daemon.wait_for_event(Event.RUN_STOPPING, {"why": "cancelled"})
    person.does("retry", name)
    person.waits(name, "running")
    person.does("cancel", name)
    assert person.waits(name, "cancelled")["releases"] == 0
    clinging.end_leftovers()


def test_a_queued_ticket_that_is_cancelled_never_runs_and_can_be_taken_up_again(
    person: Person, go: Path
) -> None:
    person.daemon.start()
    name = person.adds("Mend it")
    person.does("cancel", name)
    go.touch()
    person.turns_on()
    other = person.adds("Mend it as well")
    assert person.waits(other)["state"] == "published"
    assert (person.ticket(name)["state"], person.ticket(name)["sessions"]) == ("cancelled", 0)
    person.does("retry", name)
    assert person.waits(name, "published", "failed", "parked")["state"] == "published"
