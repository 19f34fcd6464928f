"""`autopilot report` where one thing is broken: it says so, has the rest, and changes nothing."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from autopilot.config.logs import LOG_FILE
from tests.support.cli import Cli, fill
from tests.support.key_ring import said_in_a_session
from tests.support.reported import CONFIGURED, TITLE, gaps, home_of, made
from tests.support.shop import CONFIG

IN_A_SESSION = """
import sys
import keyring.backends.SecretService as service
from autopilot.config.clock import SystemClock
from autopilot.config.paths import find_paths
from autopilot.daemon.report.known import learn
service.Keyring().set_password("autopilot", "web", "made-up-value")
found = learn(find_paths(), SystemClock())
print("made-up-value" in found.secrets, found.unread)
import secretstorage
secretstorage.get_default_collection(secretstorage.dbus_init()).lock()
found = learn(find_paths(), SystemClock())
print("made-up-value" in found.secrets, found.unread)
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return home_of(tmp_path)


def test_of_a_damaged_database_it_says_what_is_damaged(cli: Cli) -> None:
    fill(cli)
    cli.paths.database.write_bytes(b"not a database at all" * 500)
    queue = json.loads(made(cli)["queue.json"])
    assert queue["begins_like_a_database"] is False
    assert "not a database" in json.dumps([queue.get("fault"), queue.get("integrity"), queue.get("pragmas")])


def test_pages_of_the_database_that_are_mixed_up_bring_no_text_along(cli: Cli) -> None:
    fill(cli)
    size = cli.paths.database.stat().st_size
    with cli.paths.database.open("r+b") as file:
        file.seek(4096 * 3)
        file.write(f"{TITLE} ".encode() * ((size - 4096 * 4) // (len(TITLE) + 1)))
    files = made(cli)
    assert json.loads(files["queue.json"])["begins_like_a_database"] is True
    assert "Initech" not in "".join(files.values())


def test_a_database_that_is_gone_is_told_and_not_made_anew(cli: Cli) -> None:
    fill(cli)
    for path in cli.paths.state.glob("autopilot.db*"):
        if not path.name.endswith(".lock"):
            path.unlink()
    files = made(cli)
    assert json.loads(files["queue.json"])["database"] == "is gone, but there was one here"
    assert not cli.paths.database.exists()


def test_of_a_configuration_that_is_no_toml_what_stands_in_quotes_is_masked_all_the_same(cli: Cli) -> None:
    cli.paths.config_file.write_text(
        '[[repo]]\nname = "initech-billing"\npath = "/srv/initech"\npassword = "Tr0ub4dor-and-3"\n[[repo\n'
    )
    line = {"event": "breaker.opened", "scope": "repo:initech-billing", "why": "Tr0ub4dor-and-3"}
    cli.paths.logs.mkdir(parents=True, exist_ok=True)
    (cli.paths.logs / LOG_FILE).write_text(json.dumps(line) + "\n")
    files = made(cli, "--with-texts")
    assert "repo:<configured>" in files["logs/autopilot.jsonl"]
    assert "initech" not in "".join(files.values())
    assert "Tr0ub4dor" not in "".join(files.values())
    assert any("no TOML" in what for what in gaps(files))


def test_of_a_home_in_which_nothing_is_there_is_a_report_too(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "home")
    files = made(cli)
    assert json.loads(files["queue.json"])["database"] == "there was never one here"
    assert not cli.paths.state.exists()
    assert "log" in gaps(files)


def test_a_database_that_somebody_holds_is_read_all_the_same(cli: Cli) -> None:
    fill(cli)
    with closing(sqlite3.connect(cli.paths.database, isolation_level=None)) as raw:
        raw.execute("BEGIN IMMEDIATE")
        queue = json.loads(made(cli)["queue.json"])
        raw.execute("ROLLBACK")
    assert queue["integrity"]["quick_check"] == ["ok"]


@pytest.mark.parametrize(
    "config",
    [
        f'[schedule\nwindow = "{TITLE}"',
        f'cost_ceiling_usd = "{TITLE}"\n[identity]\nname = 3\npassword = "{CONFIGURED}"',
        f'[[repo]]\nname = "{TITLE}"\n',
    ],
)
def test_a_configuration_that_cannot_be_used_is_told_without_its_texts(cli: Cli, config: str) -> None:
    cli.paths.config_file.write_text(config)
    files = made(cli)
    assert json.loads(files["settings.json"])["error"]["code"].startswith("config-")
    checks = {each["name"]: each for each in json.loads(files["doctor.json"])["checks"]}
    assert checks["configuration"]["verdict"] == "no-go"
    everywhere = "".join(files.values())
    assert "Initech" not in everywhere
    assert CONFIGURED not in everywhere


def test_a_state_folder_that_is_a_file_and_a_log_that_is_a_pipe_hold_nothing_up(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "home", config=CONFIG)
    cli.paths.state.write_text("in the way")
    cli.paths.logs.mkdir()
    os.mkfifo(cli.paths.logs / LOG_FILE)
    files = made(cli)
    assert {"versions.json", "machine.json", "settings.json", "doctor.json"} <= files.keys()
    assert gaps(files)["log"] == "it is no plain file"


def test_an_environment_with_next_to_nothing_in_it_is_enough(cli: Cli) -> None:
    cli.env = {name: value for name, value in cli.env.items() if name in {"AUTOPILOT_HOME", "PYTHONPATH"}}
    assert "machine.json" in made(cli)


@pytest.mark.needs(binary="gnome-keyring-daemon", apt="gnome-keyring")
@pytest.mark.needs(binary="dbus-run-session", apt="dbus-daemon")
@pytest.mark.skipif(sys.platform != "linux", reason="the Secret Service is Linux only")
def test_a_real_key_ring_is_read_when_it_is_open_and_named_when_it_is_locked(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[[repo]]\nname = "a"\npath = "/x"\ncredential = "web"\n')
    assert said_in_a_session(tmp_path, IN_A_SESSION).splitlines() == [
        "True ()",
        "False ('the credential web (locked)',)",
    ]
