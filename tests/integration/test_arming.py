"""Arming: one NO-GO refuses, a person overrules a line by its name, and that is seen afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from autopilot.daemon.cli import starter
from autopilot.daemon.store import writes
from autopilot.schemas.checkup import Checkup
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.run import Usage
from tests.support import queue
from tests.support.cli import Cli
from tests.support.gitcmd import git
from tests.support.repos import Repo, commit_files, make_repo

LINE = "agent gone"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "r")


@pytest.fixture
def cli(tmp_path: Path, repo: Repo) -> Iterator[Cli]:
    """A machine on which everything is in order, but for one agent's program."""
    config = (
        'default_agent = "gone"\nmin_free_disk_gib = 0\nmin_free_memory_gib = 0\nmax_load_per_cpu = 0\n'
        '[agents.gone]\nkind = "command"\nargv = ["no-such-program"]\n'
        f'[agents.s]\nkind = "scripted"\n[[repo]]\nname = "shop"\npath = "{repo.remote}"\nbase = "main"\n'
    )
    cli = Cli(tmp_path / "home", config=config)
    yield cli
    starter.stop_daemon(cli.paths)


def lines(cli: Cli, *words: str) -> dict[str, dict[str, str]]:
    found = Checkup.model_validate_json(cli.call("doctor", "--json", *words).out)
    return {line.name: line.model_dump(mode="json") for line in found.checks}


def test_a_no_go_refuses_with_3_and_names_the_way_round_it(cli: Cli) -> None:
    said = cli.call("on")
    assert said.code == ExitCode.REFUSED
    *_, hint, verdict = said.out.splitlines()
    assert verdict == "NO-GO: mend the lines marked ✗ first"
    assert hint == f"to arm in spite of a line: autopilot on --force '{LINE}'"
    assert not json.loads(cli.told("status", "--json"))["switch"]["is_on"]


@pytest.mark.covers("B01")
def test_a_line_that_a_person_names_is_overruled_recorded_and_shown(cli: Cli) -> None:
    said = cli.run("on", "--now", "--force", LINE)
    assert said.code == ExitCode.OK, said
    assert f"forced: {LINE}" in said.out
    assert "GO" in said.out.splitlines()
    shown = cli.told("status")
    assert f"forced     {LINE}: no-such-program is not on PATH" in shown
    digest = cli.told("digest")
    assert "## Forced" in digest
    assert LINE in digest
    (row,) = json.loads(cli.told("status", "--json"))["forced"]
    assert (row["name"], row["verdict"], row["scope"]) == (LINE, "no-go", "agent:gone")


def test_another_line_than_the_blocking_one_overrules_nothing(cli: Cli) -> None:
    said = cli.call("on", "--force", "git", "--json")
    assert said.code == ExitCode.REFUSED
    assert (said.json()["go"], said.json()["forced"]) == (False, [])


def test_a_line_that_does_not_exist_is_named_with_the_nearest(cli: Cli) -> None:
    said = cli.call("on", "--force", "agent gon")
    assert said.code == ExitCode.USAGE
    assert f"did you mean {LINE}?" in said.err


def test_a_dry_run_with_force_says_go_and_changes_nothing(cli: Cli) -> None:
    said = cli.call("on", "--dry-run", "--force", LINE, "--json")
    assert (said.code, said.json()["go"]) == (ExitCode.OK, True)
    assert not json.loads(cli.told("status", "--json"))["switch"]["is_on"]
    assert not (cli.paths.state / "arming.json").exists()


def test_doctor_as_json_is_the_record_of_the_schemas(cli: Cli) -> None:
    said = cli.call("doctor", "--json")
    found = Checkup.model_validate_json(said.out)
    assert (said.code, found.go) == (ExitCode.REFUSED, False)
    assert [line.name for line in found.checks if line.blocks] == [LINE]
    assert all(line.cure for line in found.checks if line.verdict != "go")
    assert len({line.name for line in found.checks}) == len(found.checks)


def test_an_agent_that_only_a_ticket_names_is_looked_at_too(cli: Cli) -> None:
    cli.paths.config_file.write_text(
        cli.paths.config_file.read_text().replace('default_agent = "gone"', 'default_agent = "s"')
    )
    assert LINE not in lines(cli)
    cli.told("add", "--repo", "shop", "--agent", "gone", "Mend the login")
    assert lines(cli)[LINE]["verdict"] == "no-go"


def test_a_ticket_whose_agent_was_taken_out_of_the_configuration_is_named(cli: Cli) -> None:
    cli.told("add", "--repo", "shop", "--agent", "s", "Mend the login")
    cli.paths.config_file.write_text(
        cli.paths.config_file.read_text().replace('[agents.s]\nkind = "scripted"\n', "")
    )
    line = lines(cli)["agent s"]
    assert line["verdict"] == "warning"
    assert "T-1 would run with 's'" in line["evidence"]


def test_a_repository_without_a_known_way_to_run_tests_is_named(cli: Cli, repo: Repo) -> None:
    assert lines(cli)["tests of shop"]["verdict"] == "go"
    bare = git(
        repo.remote,
        "commit-tree",
        git(repo.remote, "hash-object", "-t", "tree", "-w", "--stdin", stdin=b""),
        "-m",
        "empty",
    )
    git(repo.remote, "update-ref", "refs/heads/main", bare)
    line = lines(cli)["tests of shop"]
    assert line["verdict"] == "warning"
    assert ".autopilot.toml" in line["cure"]


def test_money_that_is_spent_is_a_no_go_with_figures_and_the_hour_it_frees(cli: Cli) -> None:
    assert "room for" in lines(cli)["budget"]["evidence"]
    store = cli.store()
    try:
        writes.turn_on(store, by="test", ignore_window=True)
        claimed = queue.claim(store, queue.add(store, "Mend the login", repo="shop"))
        spent = Usage(cost_micro_usd=21_000_000, known=True)
        queue.end(store, claimed, queue.result(claimed, usage=spent))
        writes.turn_off(store, by="test")
    finally:
        store.close()
    line = lines(cli)["budget"]
    assert line["verdict"] == "no-go"
    assert "$21.00 of $25.00 spent in 24 hours" in line["evidence"]
    assert "nothing can start before 20" in line["evidence"]
    assert cli.call("on").code == ExitCode.REFUSED


@pytest.mark.slow
@pytest.mark.covers("B01")
def test_a_red_base_refuses_the_night_until_it_is_overruled_by_name_or_mended(cli: Cli, repo: Repo) -> None:
    """From the command to the switch, by what a person types and sees."""
    text = cli.paths.config_file.read_text().replace('default_agent = "gone"', 'default_agent = "s"')
    cli.paths.config_file.write_text(f'{text}[sandbox]\nkind = "none"\n')
    asked = {"AUTOPILOT__CHECKUP__BASELINE_S": "60"}
    said = cli.run("on", env=asked)
    assert (said.code, said.err) == (ExitCode.REFUSED, "")
    *rows, hint, verdict = said.out.splitlines()
    assert verdict == "NO-GO: mend the lines marked ✗ first"
    assert hint == "to arm in spite of a line: autopilot on --force 'base of shop'"
    (at,) = [number for number, row in enumerate(rows) if row.startswith("✗")]
    assert rows[at].startswith(f"✗ base of shop: red, {repo.base_sha[:12]}: 1 of ")
    said_of_it = rows[at + 1 : next(n for n in range(at + 1, len(rows)) if not rows[n].startswith("    "))]
    assert said_of_it[-1].startswith("    → "), said_of_it
    assert not json.loads(cli.told("status", "--json"))["switch"]["is_on"]

    said = cli.run("on", "--now", "--force", "base of shop", env=asked)
    assert (said.code, "forced: base of shop, on your word" in said.out) == (ExitCode.OK, True), said
    status = json.loads(cli.told("status", "--json"))
    assert status["switch"]["is_on"]
    assert [(row["name"], row["scope"]) for row in status["forced"]] == [("base of shop", "repo:shop")]
    cli.told("off")

    project = repo.project
    commit_files(repo.remote, "main", {project.broken_path: project.fixed_file()})
    said = cli.run("on", "--now", env=asked)
    assert (said.code, "✓ base of shop: green, " in said.out) == (ExitCode.OK, True), said
    assert json.loads(cli.told("status", "--json"))["forced"] == []
