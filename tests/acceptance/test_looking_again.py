"""What breaks during the night is a hold with its cure, not a row of failed attempts; then work goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from autopilot.schemas.errors import ExitCode
from tests.acceptance.conftest import MakePerson
from tests.support import agents
from tests.support.small_project import small_project, small_repo

LOOKS = {"AUTOPILOT__CHECKUP__EVERY_S": "1"}


@pytest.mark.covers("C02", "C08")
def test_an_agent_that_is_taken_away_at_night_holds_its_tickets_until_it_is_back(
    make_person: MakePerson, tmp_path: Path
) -> None:
    mender = agents.mends(tmp_path / "agents", small_project())
    person = make_person(repos={"shop": small_repo(tmp_path / "shop")}, agents={"mender": mender}, env=LOOKS)
    person.begins()
    hidden = mender.path.with_name("hidden")
    mender.path.rename(hidden)
    name = person.adds("Mend it")
    hold = person.waits_for_hold("agent-not-ready", "agent:mender")
    assert f"{mender.path} is not there" in hold["cause"]
    assert hold["cure"]
    assert person.ticket(name)["sessions"] == 0
    assert "agent-not-ready" in person.does("why", name)
    hidden.rename(mender.path)
    assert person.waits(name)["state"] == "published"


@pytest.mark.covers("C02", "C08")
def test_a_credential_that_is_missing_holds_the_repository_and_spends_nothing(
    make_person: MakePerson, tmp_path: Path
) -> None:
    mender = agents.mends(tmp_path / "agents", small_project())
    repo = small_repo(tmp_path / "shop")
    table = {
        "path": str(repo.remote),
        "base": repo.base,
        "forge": "github",
        "project": "o/r",
        "api_url": "http://127.0.0.1:9",
        "credential": "gh",
    }
    person = make_person(repos={"shop": table}, agents={"mender": mender}, env=LOOKS)
    person.daemon.start()
    person.daemon.call("POST", "/v1/switch", on=True, ignore_window=True)
    name = person.adds("Mend it")
    hold = person.waits_for_hold("credential", "repo:shop")
    assert "credential gh: is missing" in hold["cause"]
    assert "AUTOPILOT_SECRET_GH" in hold["cure"]
    assert person.ticket(name)["sessions"] == 0


@pytest.mark.covers("C02", "C08", "E01")
@pytest.mark.field_report("DMN-011")
def test_an_agent_that_only_a_run_finds_gone_costs_one_start_no_attempt_and_holds_the_rest(
    make_person: MakePerson, tmp_path: Path
) -> None:
    mender = agents.mends(tmp_path / "agents", small_project())
    seldom = {"AUTOPILOT__CHECKUP__EVERY_S": "3600"}
    person = make_person(repos={"shop": small_repo(tmp_path / "shop")}, agents={"mender": mender}, env=seldom)
    person.begins()
    assert person.waits(person.adds("Mend it"))["state"] == "published", "the look has found it well"
    hidden = mender.path.with_name("hidden")
    mender.path.rename(hidden)
    names = [person.adds("Mend it") for _ in range(5)]
    hold = person.waits_for_hold("breaker-open", "agent:mender")
    assert "agent-missing" in hold["cause"]
    tickets = [person.ticket(name) for name in names]
    assert [(one["state"], one["attempts"]) for one in tickets] == [("queued", 0)] * 5
    assert sum(one["sessions"] for one in tickets) == 1
    assert "is not there" in person.does("why", names[0])
    assert person.types("doctor").returncode == ExitCode.REFUSED
    hidden.rename(mender.path)
    person.does("breaker", "reset", "agent:mender")
    ended = person.waits_for_all(names)
    assert {ticket["state"] for ticket in ended.values()} == {"published"}
