"""Configuration, database and machine: what is wrong is named, with its place and its cure."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from autopilot.daemon.cli.verbs import VERBS
from autopilot.schemas.errors import ExitCode
from tests.support.cli import Cli
from tests.support.repos import make_repo
from tests.support.shop import CONFIG

BROKEN = """
cost_ceiling_usd = -1
max_paralell_agents = 2
default_agent = "clade"
[schedule]
window = "22:00"
[[repo]]
name = "shop"
"""
FAULTY = """
import sys, types
broken = types.ModuleType("autopilot.daemon.cli.list")
broken.add_arguments = lambda parser: parser.add_argument("--json", action="store_true")
broken.run = lambda args: 1 / 0
sys.modules[broken.__name__] = broken
from autopilot.daemon.cli.main import main
main()
"""
NEEDS_THE_QUEUE = [["list"], ["status"], ["show", "T-1"], ["add", "x"], ["digest"], ["review"], ["off"]]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path / "home", config=CONFIG)


@pytest.mark.parametrize("words", [["list"], ["config", "check"], ["config"], ["daemon", "run"], ["init"]])
def test_a_broken_configuration_ends_with_78_and_every_fault_named_with_its_place(
    tmp_path: Path, words: list[str]
) -> None:
    cli = Cli(tmp_path, config=BROKEN)
    said = cli.run(*words)
    assert (said.code, said.out) == (ExitCode.CONFIG, "")
    for named in (
        "cost_ceiling_usd",
        "did you mean max_parallel_agents?",
        "did you mean claude?",
        "schedule.window",
        "repo[shop]: needs either path or url",
    ):
        assert named in said.err, named
    assert said.err.count(str(cli.paths.config_file)) == 5


def test_a_broken_configuration_as_json_is_one_error(tmp_path: Path) -> None:
    said = Cli(tmp_path, config="[schedule\n").run("list", "--json")
    assert (said.code, said.err) == (ExitCode.CONFIG, "")
    assert (said.error["code"], said.error["exit"]) == ("config-syntax", ExitCode.CONFIG)
    assert "config.toml" in said.error["what"]


def test_doctor_looks_at_the_rest_though_the_configuration_is_broken(tmp_path: Path) -> None:
    cli = Cli(tmp_path, config=BROKEN)
    said = cli.run("doctor", "--json")
    assert said.code == ExitCode.REFUSED
    checks = {check["name"]: check for check in said.json()["checks"]}
    assert checks["configuration"]["verdict"] == "no-go"
    assert "did you mean max_parallel_agents?" in checks["configuration"]["evidence"]
    assert checks["database"]["verdict"] == "go"
    assert {"state", "git", "sleep lock", "sqlite", "sandbox", "daemon"} <= checks.keys()
    told = cli.run("on")
    assert (told.code, told.out.splitlines()[-1]) == (
        ExitCode.REFUSED,
        "NO-GO: mend the lines marked ✗ first",
    )


def test_with_nothing_configured_the_night_does_not_begin(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    said = cli.run("on")
    assert said.code == ExitCode.REFUSED
    assert "✗ configuration: " in said.out
    assert "→ run autopilot init inside a repository" in said.out
    assert "NO-GO" in said.out
    assert not json.loads(cli.told("status", "--json"))["switch"]["is_on"]


def test_doctor_names_program_remote_identity_and_credential_that_are_missing(tmp_path: Path) -> None:
    config = (
        '[agents.mine]\nkind = "command"\nargv = ["no-such-program"]\n'
        f'[[repo]]\nname = "a"\npath = "{tmp_path}/gone"\nagent = "mine"\n'
        '[[repo]]\nname = "b"\nurl = "https://127.0.0.1:9/o/r.git"\nforge = "github"\nproject = "o/r"\n'
        'agent = "mine"\ncredential = "gh"\n'
    )
    cli = Cli(tmp_path / "home", config=config)
    said = cli.run("doctor", "--json")
    assert said.code == ExitCode.REFUSED
    checks = {check["name"]: check for check in said.json()["checks"]}
    assert "no-such-program is not on PATH" in checks["agent mine"]["evidence"]
    assert checks["repository a"]["verdict"] == checks["repository b"]["verdict"] == "no-go"
    assert "AUTOPILOT_SECRET_GH" in checks["credential gh"]["cure"]
    assert checks["identity"]["verdict"] == "warning"
    assert all(check["cure"] for check in checks.values() if check["verdict"] != "go")


@pytest.mark.covers("C01", "C05")
def test_a_credential_is_probed_before_the_night_is_armed_and_never_shown(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    config = (
        'default_agent = "s"\nmin_free_disk_gib = 0\nmin_free_memory_gib = 0\nmax_load_per_cpu = 0\n'
        '[agents.s]\nkind = "scripted"\n'
        f'[[repo]]\nname = "a"\npath = "{repo.remote}"\nforge = "github"\nproject = "o/r"\n'
        'credential = "gh"\n'
    )
    cli = Cli(tmp_path / "home", config=config)
    assert "credential gh: is" in cli.call("on", "--dry-run").out
    cli.env["AUTOPILOT_SECRET_GH"] = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
    said = cli.call("on", "--dry-run")
    assert (said.code, said.out.splitlines()[-1]) == (ExitCode.OK, "GO")
    assert "✓ credential gh: is there and can be read" in said.out
    assert "ghp_" not in said.out + said.err
    assert not json.loads(cli.told("status", "--json"))["switch"]["is_on"]


def damage(cli: Cli) -> None:
    with cli.paths.database.open("r+b") as file:
        file.write(b"not a database at all")


@pytest.mark.parametrize("words", NEEDS_THE_QUEUE)
def test_a_damaged_queue_is_never_taken_for_an_empty_one(cli: Cli, words: list[str]) -> None:
    cli.told("add", "--repo", "shop", "Mend the login")
    damage(cli)
    said = cli.call(*words)
    assert (said.code, said.out) == (ExitCode.CONFIG, "")
    assert f"the database {cli.paths.database} is damaged" in said.err
    assert "autopilot doctor --set-aside" in said.err
    assert cli.call(*words, "--json").error["code"] == "database-damaged"


def test_doctor_sets_a_damaged_queue_aside_on_a_persons_word_only(cli: Cli) -> None:
    cli.told("add", "--repo", "shop", "Mend the login")
    damage(cli)
    assert "✗ database" in cli.run("doctor").out
    assert cli.paths.database.exists()
    said = cli.run("doctor", "--set-aside", "--json")
    assert said.code == ExitCode.OK
    folder = Path(said.json()["set_aside"])
    assert (folder / "autopilot.db").read_bytes().startswith(b"not a database")
    assert json.loads(cli.ok("list", "--json")) == {"tickets": []}
    assert cli.ok("add", "--repo", "shop", "Mend it again").startswith("queued T-1")


def test_a_queue_that_is_gone_can_be_given_up_too(cli: Cli) -> None:
    cli.told("add", "--repo", "shop", "Mend the login")
    for file in cli.paths.state.glob("autopilot.db*"):
        if not file.name.endswith(".lock"):
            file.unlink()
    assert cli.call("list", "--json").error["code"] == "database-missing"
    cli.told("doctor", "--set-aside")
    assert cli.told("list").startswith("no tickets")


def test_a_whole_queue_is_not_given_up(cli: Cli) -> None:
    cli.told("add", "--repo", "shop", "Mend the login")
    said = cli.run("doctor", "--set-aside")
    assert said.code == ExitCode.REFUSED
    assert "is whole" in said.err
    assert "T-1" in cli.told("list")


def test_a_queue_of_a_newer_program_is_left_alone(cli: Cli) -> None:
    cli.told("add", "--repo", "shop", "Mend the login")
    with closing(sqlite3.connect(cli.paths.database)) as raw, raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
    for words in (["list"], ["doctor", "--set-aside"], ["add", "x"]):
        said = cli.call(*words)
        assert said.code == ExitCode.CONFIG
        assert "schema 9999, newer than this program's" in said.err
        assert "→ install the newer version again" in said.err
    with closing(sqlite3.connect(cli.paths.database)) as raw:
        assert raw.execute("SELECT count(*) FROM tickets").fetchone() == (1,)


def test_a_locked_database_is_tried_again_later(cli: Cli, tmp_path: Path) -> None:
    cli.told("add", "--repo", "shop", "Mend the login")
    with closing(sqlite3.connect(cli.paths.database, isolation_level=None)) as raw:
        raw.execute("BEGIN IMMEDIATE")
        said = cli.run("cancel", "T-1")
        raw.execute("ROLLBACK")
    assert said.code == ExitCode.LATER
    assert "stayed locked by another process" in said.err


def test_a_state_folder_inside_a_repository_is_refused(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    said = Cli(repo.checkout / "home", config=CONFIG).run("doctor")
    assert said.code == ExitCode.REFUSED
    assert "✗ state: " in said.out
    assert "lies inside the repository" in said.out


def test_an_unexpected_error_is_a_bug_with_a_report_that_can_be_pasted(cli: Cli) -> None:
    for words in (["list"], ["list", "--json"]):
        done = subprocess.run(
            [sys.executable, "-P", "-c", FAULTY, *words],
            env=cli.env,
            cwd=cli.home,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == ExitCode.BUG
        said = done.stdout if "--json" in words else done.stderr
        assert "this is a bug in autopilot: division by zero" in said
    reports = sorted((cli.paths.state / "reports").iterdir())
    assert str(reports[-1]) in json.loads(done.stdout)["error"]["hint"]
    report = reports[0].read_text()
    assert "verb list" in report
    assert report.rstrip().endswith("ZeroDivisionError: division by zero")


def test_a_home_that_cannot_be_found_is_named_before_anything_is_done(cli: Cli) -> None:
    said = cli.run("config", "path", env={"AUTOPILOT_HOME": "~nobody-of-that-name/x"})
    assert said.code == ExitCode.CONFIG
    assert "~nobody-of-that-name/x" in said.err


@pytest.mark.parametrize("act", ["show", "check", "schema", "path"])
def test_config_tells_what_holds_and_where_it_is(cli: Cli, act: str) -> None:
    told, as_json = cli.told("config", act), json.loads(cli.told("config", act, "--json"))
    match act:
        case "show":
            assert as_json["settings"]["repo"][0]["name"] == "shop"
            assert "cost_ceiling_usd" in told
        case "check":
            assert told == f"{cli.paths.config_file} is in order; repositories: shop, till\n"
            assert as_json["repositories"] == ["shop", "till"]
        case "schema":
            assert as_json == json.loads(told)
            assert "schedule" in as_json["properties"]
        case _:
            assert told == f"{cli.paths.config_file}\n"
            assert as_json == {"config_file": str(cli.paths.config_file), "exists": True}


def test_config_show_names_for_every_value_where_it_comes_from(cli: Cli) -> None:
    cli.env["AUTOPILOT__TIMEOUTS__WALL_S"] = "3600"
    rows = {line.split()[0]: line.split()[-1] for line in cli.told("config").splitlines()[1:]}
    assert rows["timeouts.wall_s"] == "AUTOPILOT__TIMEOUTS__WALL_S"
    assert rows["timeouts.gate_s"] == "defaults.toml"
    assert rows["default_agent"] == str(cli.paths.config_file)
    assert rows["repo.0.url"] == rows["repo.1.name"] == str(cli.paths.config_file)
    assert rows["repo.1.forge"] == rows["agents.scripted.billing"] == "defaults.toml"
    assert rows["repo.0.agent"] == "-"


def test_every_verb_explains_itself(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    assert cli.run("--version").out.startswith("autopilot ")
    shown = cli.run()
    assert shown.code == ExitCode.USAGE
    assert all(f"    {verb}" in shown.out for verb in VERBS)
    assert "--depends-on" in cli.ok("add", "--help")


def test_init_without_git_names_what_is_missing_and_is_no_bug(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "home", env={"PATH": str(tmp_path / "empty")})
    said = cli.run("init", "--dry-run")
    assert said.code == ExitCode.CONFIG
    assert "git is not on PATH" in said.err
