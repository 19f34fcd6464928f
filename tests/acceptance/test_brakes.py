"""What stops a night that goes wrong: money, and attempts that come to nothing."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import MakePerson
from tests.support import agents
from tests.support.agents import Agent
from tests.support.person import Person, Steps
from tests.support.small_project import small_project, small_repo
from tests.support.wait import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

RIGHT: Steps = [{"write": {"path": "answer.txt", "text": "right\n"}}]
CENT = 10_000


def costing(usd: float, *more: float) -> Steps:
    """Mends the project; each cost is told on its own."""
    return [*({"spend": {"usd": one}} for one in (usd, *more)), *RIGHT]


def breaker(person: Person, scope: str) -> dict[str, Any]:
    """A breaker as `breaker show` prints it."""
    found = [row for row in person.asks("breaker", "show")["breakers"] if row["scope"] == scope]
    return found[0] if found else {}


def learns(agent: Agent, folder: Path) -> None:
    """From now on the agent does its work: the program is replaced under its name."""
    agent.path.write_bytes(agents.mends(folder, small_project()).path.read_bytes())


@pytest.mark.covers("E18", "F06")
def test_a_run_that_spends_more_than_it_may_is_stopped_while_it_works(
    make_person: MakePerson, tmp_path: Path
) -> None:
    spender: Steps = [{"spend": {"usd": 0.6}}, {"spend": {"usd": 0.6}}, {"hang": True}]
    person = make_person(
        repos={"shop": small_repo(tmp_path / "shop")}, agents={"spender": spender}, run_ceiling_usd=1
    )
    person.begins()
    name = person.adds("Mend it")
    ticket = person.waits(name)
    assert (ticket["state"], ticket["waiting_for"], ticket["sessions"]) == ("parked", "budget", 1)
    assert ticket["spent_micro_usd"] == 120 * CENT
    assert "run_ceiling_usd" in person.does("why", name)
    assert person.daemon.live_runs() == set()
    assert person.asks("budget", "show")["money"]["reserved_micro_usd"] == 0
    (folder,) = person.run_folders(name)
    state = json.loads((folder / "agent-state.json").read_bytes())
    assert state["circuitBreaker"]["trigger"] == 4


@pytest.mark.covers("F01", "F02")
def test_the_rolling_ceiling_refuses_what_could_cost_too_much_and_says_so(
    make_person: MakePerson, tmp_path: Path
) -> None:
    person = make_person(
        repos={name: small_repo(tmp_path / name) for name in ("shop", "till")},
        agents={"cheap": costing(0.1, 0.3, 0.1), "waiter": [{"wait_for_file": str(tmp_path / "go")}, *RIGHT]},
        cost_ceiling_usd=1,
        run_ceiling_usd=0.6,
        stop_launching_percent=100,
    )
    person.begins()
    first = person.adds("--repo=shop", "Mend it")
    assert person.waits(first)["spent_micro_usd"] == 50 * CENT, "each cost once, as a total"
    held = person.adds("--repo=till", "--agent=waiter", "Mend it")
    hold = person.waits_for_hold("cost-ceiling")
    assert "$0.50" in hold["cause"]
    assert "raise cost_ceiling_usd" in person.does("why", held)
    assert person.daemon.stop() == 0
    person.daemon.start()
    assert {one["name"] for one in person.asks("why", held)["holds"]} == {"cost-ceiling"}
    assert person.ticket(held)["sessions"] == 0
    person.changes(cost_ceiling_usd=1.2)  # noticed by itself; arming again would find all of it reserved
    person.waits(held, "running")
    assert person.asks("budget")["money"]["reserved_micro_usd"] == 60 * CENT
    waiting = person.adds("--repo=shop", "Mend it again")
    assert "reserved" in person.waits_for_hold("cost-ceiling")["cause"]
    (tmp_path / "go").touch()
    assert person.waits(held)["state"] == "published"
    assert person.waits(waiting)["state"] == "published"
    assert "of $1.20" in person.does("digest")


@pytest.mark.covers("F01")
def test_nothing_starts_once_the_share_of_the_ceiling_is_spent_at_which_launching_stops(
    make_person: MakePerson, tmp_path: Path
) -> None:
    person = make_person(
        repos={"shop": small_repo(tmp_path / "shop")},
        agents={"dear": costing(0.9)},
        cost_ceiling_usd=10,
        run_ceiling_usd=1,
        stop_launching_percent=8,
    )
    person.begins()
    assert person.waits(person.adds("Mend it"))["state"] == "published"
    held = person.adds("Mend it again")
    assert "8 %" in person.waits_for_hold("stop-percent")["cause"]
    assert person.ticket(held)["sessions"] == 0


@pytest.mark.covers("B15", "E01", "E04")
@pytest.mark.field_report("AGT-022")
def test_after_three_attempts_that_came_to_nothing_that_agent_rests_and_a_person_lets_it_go_on(
    make_person: MakePerson, tmp_path: Path
) -> None:
    silent = agents.fails_silently(tmp_path / "agents")
    mender = agents.mends(tmp_path / "good", small_project())
    person = make_person(
        repos={"shop": small_repo(tmp_path / "shop")},
        agents={"silent": silent, "mender": mender},
        attempts_per_ticket=1,
        cost_ceiling_usd=100,
        breaker={"open_after": 3, "cooldown_s": 600},
    )
    person.begins()
    names = [person.adds("Mend it") for _ in range(5)]
    failed = person.waits_for_all(names[:3])
    assert {ticket["state"] for ticket in failed.values()} == {"failed"}
    hold = person.waits_for_hold("breaker-open", "agent:silent")
    assert "3 attempts in a row" in hold["cause"]
    assert "breaker-open" in person.does("why", names[4])
    good = person.adds("--agent=mender", "Mend it")
    assert person.waits(good)["state"] == "published"
    person.daemon.kill()
    person.daemon.start()
    assert breaker(person, "agent:silent")["state"] == "open"
    assert [person.ticket(name)["sessions"] for name in names] == [1, 1, 1, 0, 0]
    assert "breaker-open" in person.does("digest")
    learns(silent, tmp_path / "learnt")
    person.does("breaker", "reset", "agent:silent")
    ended = person.waits_for_all(names[3:])
    assert {ticket["state"] for ticket in ended.values()} == {"published"}
    assert breaker(person, "agent:silent").get("state", "closed") == "closed"


@pytest.mark.covers("E02")
def test_when_it_has_rested_one_probe_goes_first_and_only_a_good_one_opens_the_way(
    make_person: MakePerson, tmp_path: Path
) -> None:
    silent = agents.fails_silently(tmp_path / "agents")
    person = make_person(
        repos={name: small_repo(tmp_path / name) for name in ("shop", "till")},
        agents={"silent": silent},
        attempts_per_ticket=1,
        cost_ceiling_usd=100,
        breaker={"open_after": 1, "cooldown_s": 2, "cooldown_cap_s": 600},
    )
    person.begins()
    first = person.adds("--repo=shop", "Mend it")
    person.waits(first)
    rest = [person.adds(f"--repo={repo}", "Mend it") for repo in ("shop", "till", "shop", "till")]

    def one_has_failed() -> list[str]:
        return [name for name in rest if person.daemon.ticket(name)["state"] == "failed"]

    wait_until(one_has_failed, 60, "the probe has failed")
    row = breaker(person, "agent:silent")
    assert (row["state"], row["cooldown_ms"]) == ("open", 4000)
    learns(silent, tmp_path / "learnt")
    ended = person.waits_for_all(rest)
    assert sorted(ticket["state"] for ticket in ended.values()) == ["failed", *["published"] * 3]
    runs = [run for name in rest for run in person.asks("show", name)["attempts"]]
    probes = sorted(
        ((run["started_ms"], run["finished_ms"]) for run in runs if run["is_probe"]), key=lambda one: one[0]
    )
    assert len(probes) == 2
    others = [run["started_ms"] for run in runs if not run["is_probe"]]
    assert all(start >= probes[-1][1] for start in others)
    assert probes[1][0] - probes[0][1] >= 4000


@pytest.mark.field_report("DMN-052")
def test_a_ticket_that_always_fails_does_not_starve_the_good_ones(
    make_person: MakePerson, tmp_path: Path
) -> None:
    person = make_person(
        repos={"shop": small_repo(tmp_path / "shop")},
        agents={
            "mender": agents.mends(tmp_path / "agents", small_project()),
            "silent": agents.fails_silently(tmp_path / "agents"),
        },
        attempts_per_ticket=3,
        cost_ceiling_usd=100,
        ticket_ceiling_usd=100,
        backoff_s=1,
        backoff_cap_s=8,
        max_open_drafts=0,
    )
    bad = person.adds("--agent=silent", "--priority=urgent", "Never mended")
    good = [person.adds("--priority=low", "Mend it") for _ in range(3)]
    person.begins()
    ended = person.waits_for_all([bad, *good])
    assert (ended[bad]["state"], ended[bad]["attempts"]) == ("failed", 3)
    assert {ended[name]["state"] for name in good} == {"published"}
    runs = person.asks("show", bad)["attempts"]
    first_good_ms = min(person.asks("show", name)["attempts"][0]["started_ms"] for name in good)
    assert first_good_ms < runs[-1]["started_ms"]
    pauses_ms = [later["started_ms"] - before["finished_ms"] for before, later in pairwise(runs)]
    assert pauses_ms[0] >= 750
    assert pauses_ms[1] >= 1500
