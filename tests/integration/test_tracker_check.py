"""`doctor` names what the token of a tracker may beyond reading and commenting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.config.load import load
from autopilot.config.secrets import variable_for
from autopilot.daemon.checkup import tracker
from autopilot.daemon.checkup.probe import Limit
from autopilot.daemon.checkup.scene import Runner, Scene
from autopilot.schemas.checkup import Check, CheckVerdict
from tests.support import queue
from tests.support.cli import Cli
from tests.support.forge.faults import Fault
from tests.support.jira import Jira


@pytest.fixture
def jira() -> Iterator[Jira]:
    with Jira(account="night@example.org") as made:
        yield made


@pytest.fixture
def cli(tmp_path: Path, jira: Jira) -> Cli:
    config = (
        '[[repo]]\nname = "shop"\npath = "/srv/shop"\n'
        f'[tracker.jira]\nkind = "jira"\nurl = "{jira.url}"\naccount = "night@example.org"\n'
        'credential = "jira"\nprojects = { ABC = "shop" }\n'
    )
    cli = Cli(tmp_path / "home", config=config)
    cli.env[variable_for("jira")] = jira.token
    return cli


def line(cli: Cli, monkeypatch: pytest.MonkeyPatch, *, token: str | None = None) -> Check:
    """Ask the one probe in this process; the child is a real one."""
    name = variable_for("jira")
    wanted = cli.env[name] if token is None else token
    if wanted:
        monkeypatch.setenv(name, wanted)
    else:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", cli.env["PYTHONPATH"])
    clock = SystemClock()
    environment = {name: wanted} if wanted else {}
    scene = Scene(
        paths=cli.paths,
        clock=clock,
        settings=load(cli.paths),
        runner=Runner(who="this terminal", environment=environment, is_us=True),
    )
    (found,) = tracker.reaches(scene, Limit(clock, clock.monotonic_s() + 60))
    assert cli.env[name] not in found.evidence + found.cure
    return found


@pytest.mark.covers("I16")
def test_a_token_that_reads_and_comments_is_well_and_nothing_is_changed(
    cli: Cli, jira: Jira, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = line(cli, monkeypatch)
    assert (found.name, found.verdict) == ("tracker jira", CheckVerdict.GO)
    assert [(seen.method, seen.path) for seen in jira.seen] == [("GET", "/rest/api/2/mypermissions")]


@pytest.mark.covers("I16")
def test_each_right_beyond_is_named_with_the_way_to_a_narrow_account(
    cli: Cli, jira: Jira, monkeypatch: pytest.MonkeyPatch
) -> None:
    jira.may |= {"TRANSITION_ISSUES", "EDIT_ISSUES", "DELETE_ISSUES", "ADMINISTER_PROJECTS"}
    found = line(cli, monkeypatch)
    assert found.verdict is CheckVerdict.WARNING
    for right in ("move issues to another status", "edit issues", "delete issues", "administer projects"):
        assert right in found.evidence
    assert "browse projects and add comments" in found.cure


@pytest.mark.covers("I16")
def test_a_token_that_may_too_little_is_missing_or_refused_is_a_warning_with_its_cure(
    cli: Cli, jira: Jira, monkeypatch: pytest.MonkeyPatch
) -> None:
    jira.may = {"BROWSE_PROJECTS"}
    assert "it may not comment" in line(cli, monkeypatch).evidence
    jira.faults.append(Fault(r"GET .*/mypermissions$", 401, {"errorMessages": ["no"]}))
    assert "tracker-refused-credential" in line(cli, monkeypatch).evidence
    missing = line(cli, monkeypatch, token="")
    assert missing.verdict is CheckVerdict.WARNING
    assert "the credential jira is missing" in missing.evidence
    assert "AUTOPILOT_SECRET_JIRA" in missing.cure


@pytest.mark.covers("I16")
def test_a_missing_or_refused_token_blocks_where_an_issue_is_to_be_told_something(
    cli: Cli, jira: Jira, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(cli.store()) as store:
        queue.add(store, source_key="ABC-7")
    assert line(cli, monkeypatch, token="").verdict is CheckVerdict.WARNING
    config = cli.paths.config_file
    text = config.read_text(encoding="utf-8")
    config.write_text(f"report_issue_updates = true\n{text}", encoding="utf-8")
    missing = line(cli, monkeypatch, token="")
    assert missing.verdict is CheckVerdict.NO_GO
    assert "T-1 came from it" in missing.evidence
    refused = line(cli, monkeypatch, token="another")
    assert (refused.verdict, "tracker-refused-credential" in refused.evidence) == (CheckVerdict.NO_GO, True)
    jira.may.add("EDIT_ISSUES")
    assert line(cli, monkeypatch).verdict is CheckVerdict.WARNING
    text = config.read_text(encoding="utf-8").replace('credential = "jira"', "")
    config.write_text(text, encoding="utf-8")
    unnamed = line(cli, monkeypatch)
    assert (unnamed.verdict, "takes a token" in unnamed.evidence) == (CheckVerdict.NO_GO, True)


def test_the_line_is_one_of_doctors(cli: Cli) -> None:
    found = {check["name"]: check for check in cli.run("doctor", "--json").json()["checks"]}
    assert found["tracker jira"]["verdict"] == "go"
    assert found["tracker jira"]["area"] == "credentials"
