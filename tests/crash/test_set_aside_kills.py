"""`kill -9` while a queue is given up or replaced: what only grows goes on, however often it is begun again.

Killed at everything that changes the disk: Python tells of each such call before it is made.
Source: Python's table of audit events.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from autopilot.daemon.loop import Loop
from autopilot.daemon.store import writes
from autopilot.schemas.errors import ExitCode
from autopilot.schemas.run import Outcome
from tests.support import queue
from tests.support.cli import Cli
from tests.support.shop import Stage
from tests.support.tree import ROOT

PROGRAM = """
import os, signal, sys
from autopilot.config.heap import loading
with loading():
    import alembic.command, alembic.config
    from autopilot.daemon.cli import doctor, main, restore
    from autopilot.daemon.store import engine
DEEDS = {"os.rename", "os.mkdir", "os.rmdir", "os.remove", "os.chmod", "os.link", "sqlite3.connect"}
WRITES = os.O_WRONLY | os.O_RDWR
def is_deed(event, args):
    return event in DEEDS or (event == "open" and isinstance(args[2], int) and args[2] & WRITES)
def hook(event, args):
    global left
    if is_deed(event, args):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
for line in sys.stdin:
    left = int(line)
    if pid := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    else:
        os.chdir(os.environ["AUTOPILOT_HOME"])
        silent = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(silent, number)
        os.close(silent)
        sys.addaudithook(hook)
        sys.exit(main.run(sys.argv[1:]))
"""
"""Runs a command in a fork for each number that it reads, killed before that deed; tells how that ended."""
FACTS = (
    "SELECT short_id, state, fence, sessions, spent_micro_usd FROM tickets ORDER BY short_id",
    "SELECT run_id, fence, state, reserved_micro_usd, spent_micro_usd FROM attempts ORDER BY run_id",
    "SELECT run_id, kind, micro_usd, known FROM ledger ORDER BY id",
    "SELECT ticket, run_id, head FROM publications ORDER BY id",
    "SELECT is_on FROM switch",
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Three tickets, the first of which ran for 4.50 dollars; the others left nothing but their rows."""
    stage = Stage(tmp_path / "home", config="cost_ceiling_usd = 5.5\nrun_ceiling_usd = 5\n")
    for _ in range(3):
        queue.add(stage.store)
    writes.turn_on(stage.store, by="test")
    loop = Loop(stage.shop)
    loop.tick()
    usage = {"cost_micro_usd": 4_500_000, "known": True}
    stage.hand_in(queue.result(stage.claim_of("T-1"), Outcome.AGENT_FAILED, usage=usage))
    loop.tick()
    stage.store.close()
    return tmp_path / "home"


def facts(database: Path) -> list[Any]:
    """What must be as if nobody had been killed."""
    with closing(sqlite3.connect(database)) as raw:
        return [raw.execute(statement).fetchall() for statement in FACTS]


@contextmanager
def mortal(cli: Cli, *words: str) -> Iterator[Callable[[int], bool]]:
    """Give what runs a command that is killed before its n-th deed: False where it came to its end."""
    argv = [sys.executable, "-c", PROGRAM, *words]
    env = {**cli.env, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(argv, env=env, stdin=PIPE, stdout=PIPE, text=True, bufsize=1, cwd="/") as stem:
        given, told = stem.stdin, stem.stdout
        assert given is not None
        assert told is not None

        def is_killed(step: int) -> bool:
            given.write(f"{step}\n")
            ended = int(told.readline())
            assert ended in {0, -9}, (step, ended)
            return ended == -9

        yield is_killed
    assert stem.returncode == 0


def lives(cli: Cli, home: Path, *words: str) -> Iterator[tuple[int, Cli]]:
    """Kill the command at one deed after the other, each in a copy of the home, until none is left."""
    with mortal(cli, *words) as is_killed:
        for step in range(1, 400):
            shutil.rmtree(cli.home)
            shutil.copytree(home, cli.home)
            if not is_killed(step):
                return
            yield step, cli
    pytest.fail("it never came to its end")


def spoil(database: Path) -> bytes:
    """Damage one table; the rest can be read. Gives what the file holds then."""
    with closing(sqlite3.connect(database)) as raw:
        (page,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'ledger'").fetchone()
        (size,) = raw.execute("PRAGMA page_size").fetchone()
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    return database.read_bytes()


def next_number(cli: Cli) -> str:
    with closing(cli.store()) as store:
        return queue.add(store, "The next one").id


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.field_report("DMN-024")
def test_a_set_aside_that_is_killed_at_any_deed_can_be_repeated_and_forgets_neither_number_fence_nor_money(
    home: Path, tmp_path: Path
) -> None:
    damaged = spoil(Cli(home).paths.database)
    whole = Cli(tmp_path / "whole")
    shutil.copytree(home, whole.home, dirs_exist_ok=True)
    whole.told("doctor", "--set-aside")
    expected = facts(whole.paths.database)
    assert expected[0] == [(1, "cancelled", 1, 1, 4_500_000)]
    found = set()
    for step, cli in lives(Cli(tmp_path / "killed"), home, "doctor", "--set-aside"):
        is_missing = not cli.paths.database.exists()
        is_begun = not is_missing and cli.paths.database.read_bytes() != damaged
        found.add((is_missing, is_begun))
        again = cli.call("doctor", "--set-aside", "--json")
        if is_begun:
            assert again.error["code"] == "database-whole", (step, again)
        else:
            assert again.code == ExitCode.OK, (step, again)
        assert facts(cli.paths.database) == expected, step
        assert next_number(cli) == "T-4", step
        assert not list(cli.paths.state.glob(".anew-*")), step
        assert not list(cli.paths.state.glob("*.unfinished")), step
        kept = [path.read_bytes() for path in cli.paths.state.glob("damaged-*/autopilot.db")]
        assert kept == [damaged], step
    assert found == {(False, False), (True, False), (False, True)}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.field_report("DMN-025")
def test_a_restore_that_is_killed_at_any_deed_can_be_repeated_and_gives_no_number_and_no_fence_twice(
    home: Path, tmp_path: Path
) -> None:
    before = Cli(home)
    before.told("backup")
    with closing(before.store()) as store:
        queue.add(store, "Added later")
    home = tmp_path / "as-a-kill-left-it"
    with closing(sqlite3.connect(before.paths.database, isolation_level=None)) as raw:
        raw.execute("UPDATE tickets SET fence = 7 WHERE short_id = 2")
        shutil.copytree(before.home, home)  # the fence is in the write-ahead log alone
    whole = Cli(tmp_path / "whole")
    shutil.copytree(home, whole.home, dirs_exist_ok=True)
    whole.told("restore")
    expected = facts(whole.paths.database)
    assert [row[:3] for row in expected[0]][1:] == [(2, "queued", 7), (3, "queued", 0)]
    found = set()
    for step, cli in lives(Cli(tmp_path / "killed"), home, "restore"):
        said = cli.call("list", "--json")
        found.add(said.error["code"] if said.code else len(said.json()["tickets"]))
        cli.told("restore")
        assert facts(cli.paths.database) == expected, step
        assert next_number(cli) == "T-5", step
        assert not list(cli.paths.state.glob(".restore-*")), step
        assert not list(cli.paths.state.glob("*.unfinished")), step
    assert found == {3, 4, "database-missing"}
