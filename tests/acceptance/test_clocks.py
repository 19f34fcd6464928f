"""Time limits and appointments: what takes too long is ended whole, what is for later comes then."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.acceptance.conftest import MakePerson
from tests.support import agents
from tests.support.agents import Agent
from tests.support.person import Person
from tests.support.small_project import small_project, small_repo

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def silent_with_a_child(folder: Path) -> Agent:
    return agents.leaves_grandchild(folder, stays=True)


@pytest.mark.field_report("AGT-010")
@pytest.mark.parametrize(
    ("build", "limit", "told"),
    [
        (silent_with_a_child, {"wall_s": 3, "silence_s": 3, "no_progress_s": 3}, "longer than it may"),
        (silent_with_a_child, {"silence_s": 1}, "said nothing"),
        (agents.speaks_rarely, {"no_progress_s": 2}, "changed nothing"),
    ],
    ids=["too long", "too silent", "nothing comes of it"],
)
def test_a_run_that_takes_too_long_is_ended_whole_before_the_ticket_moves_on(
    make_person: MakePerson,
    tmp_path: Path,
    build: Callable[[Path], Agent],
    limit: dict[str, float],
    told: str,
) -> None:
    clinging = build(tmp_path / "agents")
    person = make_person(
        repos={"shop": small_repo(tmp_path / "shop")},
        agents={"clinging": clinging},
        timeouts={"kill_grace_s": 1, **limit},
        attempts_per_ticket=1,
    )
    person.begins()
    try:
        ticket = person.waits(person.adds("Mend it"))
        assert (ticket["state"], ticket["attempts"]) == ("failed", 1)
        assert clinging.noted_pids()
        assert clinging.living() == []
        assert told in person.does("why", ticket["id"])
    finally:
        clinging.end_leftovers()


def test_a_ticket_that_is_for_later_starts_then_and_not_at_some_later_look(
    make_person: MakePerson, tmp_path: Path
) -> None:
    person: Person = make_person(
        repos={"shop": small_repo(tmp_path / "shop")},
        agents={"mender": agents.mends(tmp_path / "agents", small_project())},
        daemon={"poll_s": 600},
    )
    person.begins()
    due = datetime.now(UTC) + timedelta(seconds=5)
    name = person.adds("Mend it", f"--not-before={due.isoformat()}")
    due_ms = int(due.timestamp() * 1000)
    assert "not-before" in {hold["name"] for hold in person.asks("why", name)["holds"]}
    assert person.waits(name)["state"] == "published"
    (run,) = person.asks("show", name)["attempts"]
    assert due_ms <= run["started_ms"] < due_ms + 60_000
