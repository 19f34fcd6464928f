"""A damaged queue is given up: numbers, money and living runs go on where they were, in no second T-1."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from autopilot.config import procinfo
from autopilot.daemon import bystanders
from autopilot.schemas.errors import ExitCode
from tests.support import queue
from tests.support.cli import Cli
from tests.support.house import House, Steps
from tests.support.wait import wait_until

SECRET = "only_of_the_old_ticket.txt"
MONEY = "cost_ceiling_usd = 5.03\nrun_ceiling_usd = 5\n"
OLD: Steps = [
    {"spend": {"usd": 4.5}},
    {"write": {"path": SECRET, "text": "half\n"}},
    {"spend": {"usd": 0.0}},
    {"hang": True},
]


def damage(database: Path) -> None:
    with database.open("r+b") as file:
        file.write(b"garbage" * 1000)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path, settings=MONEY, old=OLD)
    yield house
    house.clean_up()


def held(house: House, name: str) -> bool:
    """Whether the daemon says that this holds the night up."""
    return any(hold["name"] == name for hold in house.daemon.call("GET", "/v1/status")["holds"])


@pytest.mark.slow
@pytest.mark.field_report("DMN-024")
def test_dmn_024_a_queue_given_up_beside_a_living_run_mixes_no_tickets_and_forgets_no_money(
    house: House,
) -> None:
    house.begin()
    first = house.add("One ticket", agent="old")
    wait_until(lambda: list(house.paths.worktrees.glob(f"*/{SECRET}")), 60, "the agent has written")
    (run,) = house.daemon.live_runs()
    house.daemon.kill()
    damage(house.paths.database)
    refused = house.daemon.autopilot("doctor", "--set-aside", "--json")
    assert refused.returncode == ExitCode.REFUSED, refused
    assert json.loads(refused.stdout)["error"]["code"] == "runs-alive"
    assert run in refused.stdout
    assert house.paths.database.read_bytes().startswith(b"garbage"), "it was refused, and something changed"
    assert run in house.daemon.live_runs(), "nobody was asked, and it was ended"
    house.daemon.autopilot("stop", "--all")
    told = house.daemon.autopilot("doctor", "--set-aside", "--json")
    assert told.returncode == ExitCode.OK, told
    carried = json.loads(told.stdout)["carried"]
    assert (carried["runs"], carried["tickets"]) == ([run], [first])
    assert carried["micro_usd"] >= 4_500_000
    house.daemon.start()
    assert not house.daemon.call("GET", "/v1/status")["switch"]["is_on"]
    second = house.add("One ticket")
    house.daemon.call("POST", "/v1/switch", on=True, ignore_window=True)
    assert second == "T-2"
    status = house.daemon.call("GET", "/v1/status")
    assert status["money"]["settled_micro_usd"] >= 4_500_000
    wait_until(lambda: held(house, "cost-ceiling"), 60, "the ceiling holds it back")
    assert house.daemon.ticket(first)["state"] == "cancelled"
    assert house.daemon.ticket(second)["state"] == "queued", "it broke the ceiling"
    house.assert_in_order()


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A queue of three tickets, none of which ran."""
    cli = Cli(tmp_path / "home", config="")
    with closing(cli.store()) as store:
        for number in range(3):
            queue.add(store, f"Ticket {number}")
    return cli


def next_number(cli: Cli) -> str:
    with closing(cli.store()) as store:
        return queue.add(store, "The next one").id


def test_numbers_that_a_backup_tells_of_are_not_given_again(cli: Cli) -> None:
    cli.told("backup")
    damage(cli.paths.database)
    cli.told("doctor", "--set-aside")
    assert next_number(cli) == "T-4"


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("runs", "T-12-a1-0123abcd"),
        ("worktrees", "T-12"),
        ("salvage", "T-12"),
        ("pr-requests", "T-12-a1-0123abcd.verdict.json"),
    ],
)
def test_numbers_that_anything_on_disk_tells_of_are_not_given_again(cli: Cli, folder: str, name: str) -> None:
    (cli.paths.state / folder).mkdir(exist_ok=True)
    (cli.paths.state / folder / name).mkdir()
    cli.paths.database.unlink()
    cli.told("doctor", "--set-aside")
    assert next_number(cli) == "T-13"


def test_numbers_that_the_damaged_queue_still_tells_of_are_not_given_again(cli: Cli) -> None:
    with closing(sqlite3.connect(cli.paths.database)) as raw, raw:
        (page,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'ledger'").fetchone()
        (size,) = raw.execute("PRAGMA page_size").fetchone()
    with closing(sqlite3.connect(cli.paths.database)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with cli.paths.database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    cli.told("doctor", "--set-aside")
    assert next_number(cli) == "T-4"


@pytest.mark.parametrize("words", [("restore",), ("doctor", "--set-aside")])
def test_no_other_queue_is_put_in_place_beside_a_living_run(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    cli.told("backup")
    damage(cli.paths.database)
    monkeypatch.setattr(bystanders, "_LOOKS", 2)
    run = "T-1-a1-0123abcd"
    (cli.paths.runs / run).mkdir()
    env = {**os.environ, procinfo.MARK_VARIABLE: run}
    with subprocess.Popen([sys.executable, "-c", "input()"], env=env, stdin=subprocess.PIPE) as living:
        wait_until(lambda: run in (procinfo.marks_of(living.pid) or ()), 60, "it carries its mark")
        said = cli.call(*words, "--json")
        living.send_signal(signal.SIGKILL)
    assert (said.code, said.error["code"]) == (ExitCode.REFUSED, "runs-alive")
    assert run in said.error["what"]
    cli.told(*words)
