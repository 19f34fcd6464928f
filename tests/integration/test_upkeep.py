"""What grows beside the queue stays small, whoever reads; a large queue answers before it is read through."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from autopilot.config import logs
from autopilot.daemon import upkeep
from autopilot.daemon.api.call import Call
from autopilot.daemon.api.routes import Routes
from autopilot.daemon.store import engine
from autopilot.daemon.store.engine import Store, open_store
from autopilot.daemon.upkeep import MIB, Upkeep, trim
from autopilot.schemas.errors import ConfigError, ExitCode, TransientError
from autopilot.schemas.events import Event
from tests.support import queue
from tests.support.clock import FakeClock
from tests.support.house import House
from tests.support.shop import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.store.close()


def write(store: Store, mib: int) -> None:
    for _ in range(mib):
        queue.add(store, "Long", repo="shop", body="x" * 60_000)
        with store.write() as conn:
            conn.exec_driver_sql("UPDATE tickets SET hint = hex(randomblob(400000))")
            conn.exec_driver_sql("UPDATE tickets SET hint = ''")


def patience_ms(store: Store) -> int:
    with store.write() as conn:
        found: int = conn.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
    return found


def told(stage: Stage) -> list[str]:
    """The hints of the warnings that the log beside the database grew."""
    lines = map(json.loads, (stage.paths.logs / "autopilot.jsonl").read_text().splitlines())
    return [line["hint"] for line in lines if line["event"] == Event.STORE_WAL_GREW]


def test_the_log_is_cut_when_nothing_runs_and_not_more_often_than_once_a_minute(stage: Stage) -> None:
    keep = Upkeep()
    keep(stage.shop)
    write(stage.store, 2)
    assert stage.store.log_bytes() > MIB
    keep(stage.shop)
    assert stage.store.log_bytes() > MIB, "it was cut at once"
    stage.clock.advance(61)
    keep(stage.shop)
    assert stage.store.log_bytes() == 0


@pytest.mark.field_report("DMN-049")
def test_dmn_049_a_reader_that_stays_makes_nobody_wait_is_told_of_and_once_it_goes_the_log_is_small_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs.setup(stage.paths.logs, clock=stage.clock, stderr=False, level="info", max_size_mib=1, keep_files=1)
    monkeypatch.setattr(upkeep, "TELL_BYTES", 2 * MIB)
    monkeypatch.setattr(upkeep, "FOLD_IN_BYTES", MIB)
    keep, waits_ms = Upkeep(), patience_ms(stage.store)
    keep(stage.shop)
    with closing(sqlite3.connect(stage.store.database, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM tickets").fetchone()
        write(stage.store, 4)
        stage.clock.advance(61)
        keep(stage.shop)
        assert stage.store.log_bytes() > 2 * MIB
        assert not stage.store.checkpoint(cut=True)
        stage.clock.advance(61)
        keep(stage.shop)
        assert told(stage) == ["autopilot doctor names who has the database open"], (
            "told once, and how to mend it"
        )
        reader.execute("ROLLBACK")
    stage.clock.advance(61)
    keep(stage.shop)
    assert stage.store.log_bytes() == 0
    assert patience_ms(stage.store) == waits_ms


def test_a_busy_daemon_keeps_its_log_bounded_while_it_writes(stage: Stage) -> None:
    keep = Upkeep()
    largest = 0
    for _ in range(6):
        write(stage.store, 2)
        keep(stage.shop)
        largest = max(largest, stage.store.log_bytes())
    assert largest < 24 * MIB


def test_an_output_file_that_grew_too_large_is_emptied_and_its_end_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "daemon.out"
    with file.open("ab") as appending:
        appending.write(b"x" * 200_000 + b"the end")
        appending.flush()
        trim(file, limit_bytes=100_000)
        appending.write(b"new")
        appending.flush()
    assert file.read_bytes() == b"new"
    kept = (tmp_path / "daemon.out.1").read_bytes()
    assert kept.endswith(b"the end")
    assert len(kept) < 100_000
    trim(tmp_path / "nowhere", limit_bytes=1)


@pytest.mark.parametrize("name", ["daemon.out", "gc.out"])
def test_what_we_and_our_clean_ups_print_stays_as_small_as_a_log(tmp_path: Path, name: str) -> None:
    stage = Stage(tmp_path, config="logs = { max_size_mib = 1 }\n")
    file = stage.paths.logs / name
    file.write_bytes(b"x" * (MIB + 1))
    Upkeep()(stage.shop)
    assert file.stat().st_size == 0
    assert (stage.paths.logs / f"{name}.1").exists()
    stage.store.close()


def test_a_daemon_that_still_reads_its_database_says_that_it_lives_and_refuses_the_rest(stage: Stage) -> None:
    is_ready = False

    def about() -> Mapping[str, Any]:
        return {"pid": 1, "is_draining": False}

    routes = Routes(stage.store, desk=stage.desk, inbox=stage.inbox, about=about, is_ready=lambda: is_ready)
    health = Call("GET", "/v1/health", {}, {})
    assert routes(health) == {"status": "checking", "pid": 1, "is_draining": False}
    for call in (Call("POST", "/v1/tickets", {}, {"title": "x"}), Call("GET", "/v1/status", {}, {})):
        with pytest.raises(TransientError, match="daemon-checking"):
            routes(call)
    is_ready = True
    assert routes(health)["status"] == "ok"


def test_a_large_database_is_opened_without_reading_it_and_owes_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = queue.new_store(tmp_path).database
    monkeypatch.setattr(engine, "LARGE_BYTES", 1)
    checks: list[Store] = []
    monkeypatch.setattr(Store, "check", checks.append)
    store = open_store(database, FakeClock(), role="daemon")
    assert (store.owes_check, checks) == (True, [])
    store.close()


def test_a_ticket_that_contradicts_its_history_is_found_at_the_start_of_a_large_database_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = queue.new_store(tmp_path)
    queue.add(store)
    store.close()
    with closing(sqlite3.connect(store.database)) as raw:
        raw.execute("DELETE FROM history")
        raw.commit()
    monkeypatch.setattr(engine, "LARGE_BYTES", 1)
    with pytest.raises(ConfigError, match="database-damaged"):
        open_store(store.database, FakeClock(), role="daemon")


@pytest.mark.slow
@pytest.mark.field_report("DMN-049")
@pytest.mark.parametrize("is_damaged", [False, True], ids=["whole", "damaged"])
def test_dmn_049_a_daemon_answers_before_it_reads_a_large_database_and_writes_only_after(
    tmp_path: Path, *, is_damaged: bool
) -> None:
    house = House(tmp_path)
    house.paths.ensure()
    store = house.daemon.store()
    queue.add(store, "Large", repo="bill")
    with store.write() as conn:
        conn.exec_driver_sql("UPDATE tickets SET body = hex(zeroblob(36 * 1024 * 1024))")
    store.close()
    assert house.paths.database.stat().st_size > engine.LARGE_BYTES
    if is_damaged:
        with closing(sqlite3.connect(house.paths.database)) as raw:
            (page,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'ledger'").fetchone()
        with house.paths.database.open("r+b") as file:
            file.seek((page - 1) * 4096)
            file.write(b"\xa5" * 4096)
    before = house.paths.database.read_bytes()[: 64 * 4096]
    try:
        process = house.daemon.start(is_awaited=not is_damaged)
        if is_damaged:
            assert process.wait(60) == ExitCode.CONFIG, house.daemon.said()
            assert house.paths.database.read_bytes()[: 64 * 4096] == before
            (line,) = [line for line in house.daemon.events() if line["event"] == Event.DAEMON_FAILED]
            assert line["code"] == "database-damaged"
        else:
            house.daemon.wait_for_event(Event.DAEMON_READY)
            names = [line["event"] for line in house.daemon.events()]
            assert names.index(Event.STORE_CHECKED) < names.index(Event.DAEMON_READY)
            assert house.daemon.stop() == 0
    finally:
        house.clean_up()
