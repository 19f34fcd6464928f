"""Several tickets at once: never more than may be, in the order asked for, each one run and one draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import MakePerson
from tests.support import agents
from tests.support.agents import Agent, write_agent
from tests.support.person import Person, Steps
from tests.support.reach import OPEN
from tests.support.small_project import small_project, small_repo
from tests.support.wait import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

MEND: Steps = [{"write": {"path": "answer.txt", "text": "right\n"}}, {"spend": {"usd": 0.01}}]


def meets(folder: Path, mine: str, other: str) -> Agent:
    """Mends the project, but only while the other repository's agent is at work as well."""
    return write_agent(
        folder,
        f"meets-{other}",
        f"""
        import select, time
        open({str(folder / mine)!r}, "w").close()
        end = time.monotonic() + {agents.LIFE_S}
        while not os.path.exists({str(folder / other)!r}) and time.monotonic() < end:
            select.select([], [], [], 0.02)
        open("answer.txt", "w").write("right\\n")
        say({agents.RESULT_LINE!r})
        """,
    )


def waits_for(file: Path) -> Steps:
    return [{"wait_for_file": str(file)}, *MEND]


def attempts(person: Person, names: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """The one attempt of each ticket."""
    found = {}
    for name in names:
        (found[name],) = person.asks("show", name)["attempts"]
    return found


def most_at_once(rows: Sequence[Mapping[str, Any]]) -> int:
    """How many of these attempts were under way at the same moment."""
    spans = [(int(row["started_ms"]), int(row["finished_ms"])) for row in rows]
    return max(sum(begun <= moment < ended for begun, ended in spans) for moment, _ in spans)


@pytest.mark.covers("B02", "B03", "B17", "F03")
def test_six_tickets_on_two_repositories_run_two_at_a_time_in_their_order(
    make_person: MakePerson, tmp_path: Path
) -> None:
    programs = tmp_path / "agents"
    repos = {
        name: {"path": str(small_repo(tmp_path / name).remote), "base": "main", "agent": name}
        for name in ("shop", "till")
    }
    meeting = {"shop": meets(programs, "shop", "till"), "till": meets(programs, "till", "shop")}
    person = make_person(
        repos=repos, agents=meeting, max_parallel_agents=2, per_repo_parallel=1, sandbox=OPEN
    )
    low, plain, urgent = (
        person.adds("--repo=shop", f"--priority={how}", "Mend it") for how in ("low", "normal", "urgent")
    )
    first = person.adds("--repo=till", "Mend it")
    later = person.adds("--repo=till", "--priority=urgent", f"--depends-on={first}", "Mend it")
    last = person.adds("--repo=till", "--priority=low", "Mend it")
    names = (low, plain, urgent, first, later, last)
    assert {hold["name"] for hold in person.asks("why", later)["holds"]} >= {"dependency", "switch-off"}
    person.begins()
    ended = person.waits_for_all(names)
    assert {ticket["state"] for ticket in ended.values()} == {"published"}
    runs = attempts(person, names)
    starts = {name: run["started_ms"] for name, run in runs.items()}
    assert starts[urgent] < starts[plain] < starts[low]
    assert starts[first] < starts[last]
    published_ms = next(
        row["at_ms"] for row in person.asks("show", first)["history"] if row["to_state"] == "published"
    )
    assert starts[later] >= published_ms
    assert most_at_once(list(runs.values())) == 2
    assert most_at_once([runs[name] for name in (low, plain, urgent)]) == 1
    assert most_at_once([runs[name] for name in (first, later, last)]) == 1
    assert len(person.drafts("shop")) == len(person.drafts("till")) == 3


def test_a_full_machine_and_a_busy_repository_are_named_as_holds(
    make_person: MakePerson, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    repos = {name: small_repo(tmp_path / name) for name in ("shop", "till")}
    person = make_person(repos=repos, agents={"waiter": waits_for(go)}, max_parallel_agents=1)
    person.begins()
    first = person.adds("--repo=shop", "Mend it")
    person.waits(first, "running")
    second, third = person.adds("--repo=shop", "Mend it too"), person.adds("--repo=till", "Mend it")
    assert {hold["name"] for hold in person.asks("why", second)["holds"]} == {"slots-full", "repo-busy"}
    assert {hold["name"] for hold in person.asks("why", third)["holds"]} == {"slots-full"}
    assert [row["ticket"]["id"] for row in person.asks("status")["running"]] == [first]
    go.touch()
    ended = person.waits_for_all((first, second, third))
    assert {ticket["state"] for ticket in ended.values()} == {"published"}
    assert most_at_once(list(attempts(person, list(ended)).values())) == 1


def test_drafts_that_wait_for_review_hold_their_repository_and_no_other(
    make_person: MakePerson, tmp_path: Path
) -> None:
    repos = {name: small_repo(tmp_path / name) for name in ("shop", "till")}
    mender = agents.mends(tmp_path / "agents", small_project())
    person = make_person(repos=repos, agents={"mender": mender}, max_open_drafts=1, daemon={"poll_s": 0.2})
    person.begins()
    assert person.waits(person.adds("--repo=shop", "Mend it"))["state"] == "published"
    held = person.adds("--repo=shop", "--priority=urgent", "Mend it again")
    hold = person.waits_for_hold("review-load", "repo:shop")
    assert "autopilot review" in hold["cure"]
    assert "review-load" in person.does("why", held)
    assert person.waits(person.adds("--repo=till", "Mend it"))["state"] == "published"
    assert person.ticket(held)["sessions"] == 0
    assert "review-load" in person.does("digest")
    person.changes(max_open_drafts=2)
    assert person.waits(held)["state"] == "published"
    wait_until(lambda: not person.asks("status")["holds"], 30, "no hold is left")
