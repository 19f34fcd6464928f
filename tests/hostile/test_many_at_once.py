"""Many processes at one queue in the same moment: nobody is refused, nothing is lost, one daemon judges."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path

import pytest
from sqlalchemy import Connection

from autopilot.daemon.store.engine import Store, open_store
from autopilot.schemas.errors import AutopilotError, ExitCode
from tests.support.clock import FakeClock
from tests.support.daemon import AUTOPILOT, Daemon
from tests.support.queue import add
from tests.support.shop import CONFIG
from tests.support.wait import wait_until

COMMANDS = 64
DAEMONS = 20
TRIES_IN_VAIN = 20


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path / "home", config=CONFIG)
    yield daemon
    daemon.clean_up()


def at_once(daemon: Daemon, commands: Sequence[Sequence[str]]) -> list[tuple[int, str, str]]:
    """Start them all, then wait for all; give code, output and complaint of each."""
    started = [
        subprocess.Popen(
            [*AUTOPILOT, *words],
            cwd=daemon.home,
            env=daemon.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words in commands
    ]
    said = [process.communicate() for process in started]
    return [(process.returncode, *words) for process, words in zip(started, said, strict=True)]


def answers(daemon: Daemon, pid: int) -> bool:
    with suppress(AutopilotError):
        return bool(daemon.call("GET", "/v1/health")["pid"] == pid)
    return False


def add_at_once(daemon: Daemon) -> None:
    """Every one of them is confirmed, and what was confirmed is there."""
    ended = at_once(daemon, [["add", "--json", f"Ticket {number}"] for number in range(COMMANDS)])
    assert [(code, out, err) for code, out, err in ended if code] == []
    told = {json.loads(out)["ticket"]["id"]: json.loads(out)["ticket"]["title"] for _, out, _ in ended}
    assert len(told) == COMMANDS
    with closing(sqlite3.connect(daemon.paths.database)) as raw:
        rows = dict(raw.execute("SELECT 'T-' || short_id, title FROM tickets"))
    assert told == rows
    assert set(rows.values()) == {f"Ticket {number}" for number in range(COMMANDS)}


ONE_REPOSITORY = CONFIG.partition('[[repo]]\nname = "till"')[0]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("is_up", [False, True], ids=["where nothing ever was", "at a daemon"])
def test_64_commands_that_add_at_once_all_succeed(tmp_path: Path, *, is_up: bool) -> None:
    daemon = Daemon(tmp_path / "home", config=ONE_REPOSITORY)
    try:
        if is_up:
            daemon.start()
        add_at_once(daemon)
        assert not is_up or daemon.stop() == ExitCode.OK
    finally:
        daemon.clean_up()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_of_20_daemons_started_at_once_one_runs_and_the_others_name_it(daemon: Daemon) -> None:
    started = [daemon.start(is_awaited=False) for _ in range(DAEMONS)]
    try:
        wait_until(lambda: len([one for one in started if one.poll() is None]) == 1, 120, "19 gave way")
        (alive,) = [one for one in started if one.poll() is None]
        daemon.process = alive
        wait_until(lambda: answers(daemon, alive.pid), 60, "the one that is left answers")
        assert {one.returncode for one in started if one is not alive} == {ExitCode.REFUSED}
        said = (daemon.home / "daemon.out").read_text()
        assert said.count("a daemon already runs here") == DAEMONS - 1
        assert said.count("→ use it") == DAEMONS - 1
        assert daemon.stop() == ExitCode.OK
    finally:
        for one in started:
            one.kill()
            one.wait()


def test_a_write_lock_that_is_passed_on_is_a_queue_to_wait_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each try another process commits and takes the lock again, more often than tries are given."""
    database, passed_on = tmp_path / "autopilot.db", list[Store]()
    with (
        closing(open_store(database, FakeClock(), busy_ms=1)) as store,
        closing(sqlite3.connect(database, isolation_level=None)) as others,
    ):
        add(store, "first")
        others.execute("BEGIN IMMEDIATE")
        write = Store.write

        def after_another_commit(tried: Store) -> AbstractContextManager[Connection]:
            others.execute("UPDATE switch SET by = ?", (f"number {len(passed_on)}",))
            others.execute("COMMIT")
            if len(passed_on) < TRIES_IN_VAIN:
                others.execute("BEGIN IMMEDIATE")
                passed_on.append(tried)
            return write(tried)

        monkeypatch.setattr(Store, "write", after_another_commit)
        assert add(store, "second").id == "T-2"
        assert len(passed_on) == TRIES_IN_VAIN
