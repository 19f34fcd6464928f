"""Opening the database: made once, private, refused when damaged, never taken for empty."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from autopilot.daemon.store import backup, migrate, queries_tickets
from autopilot.daemon.store.anew import begin_anew
from autopilot.daemon.store.engine import Store, open_store
from autopilot.daemon.store.restore import restore
from autopilot.schemas.errors import (
    AutopilotError,
    ConfigError,
    RefusedError,
    TransientError,
)
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.clock import FakeClock


def filled(folder: Path, tickets: int = 40) -> Path:
    """A database on its own, with nothing left in a write-ahead log."""
    store = queue.new_store(folder)
    for number in range(tickets):
        queue.add(store, f"Ticket {number}", body="x" * 1500)
    store.close()
    return store.database


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def pragma(store: Store, name: str) -> tuple[object, object]:
    with store.read() as reading, store.write() as writing:
        return tuple(conn.execute(text(f"PRAGMA {name}")).scalar() for conn in (reading, writing))  # type: ignore[return-value]


def test_a_new_database_is_private_and_keeps_what_is_written(tmp_path: Path) -> None:
    old_mask = os.umask(0)
    try:
        store = open_store(tmp_path / "autopilot.db", FakeClock(), role="daemon")
        queue.add(store, "First")
        assert {mode(path) for path in tmp_path.iterdir() if path.is_file()} == {0o600}
        store.close()
    finally:
        os.umask(old_mask)
    again = open_store(tmp_path / "autopilot.db", FakeClock())
    with again.read() as conn:
        assert [ticket.title for ticket in queries_tickets.tickets(conn)] == ["First"]
    again.close()


def test_commits_survive_a_power_cut_and_only_the_daemon_checkpoints(tmp_path: Path) -> None:
    daemon = open_store(tmp_path / "autopilot.db", FakeClock(), role="daemon")
    other = open_store(daemon.database, FakeClock(), role="cli")
    assert pragma(daemon, "journal_mode") == ("wal", "wal")
    assert pragma(daemon, "synchronous")[1] == 2  # FULL
    assert pragma(daemon, "foreign_keys") == (1, 1)
    assert pragma(daemon, "wal_autocheckpoint")[1] == 1000
    assert pragma(other, "wal_autocheckpoint")[1] == 0
    other.close()
    daemon.close()


@pytest.mark.parametrize("value", [2**63, "half a character \udcff"])
def test_a_value_that_sqlite_cannot_hold_is_refused_and_no_bug(tmp_path: Path, value: object) -> None:
    store = queue.new_store(tmp_path)
    with closing(store), pytest.raises(RefusedError, match="value-unstorable"), store.read() as conn:
        conn.execute(text("SELECT :value"), {"value": value})


def test_a_path_too_long_for_sqlite_is_a_matter_of_configuration_and_no_bug(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["x" * 100] * 6)
    deep.mkdir(parents=True)
    with pytest.raises(ConfigError, match="database-unwritable"):
        open_store(deep / "autopilot.db", FakeClock())


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    store = queue.new_store(tmp_path)
    with pytest.raises(ConfigError, match="database-unwritable"), store.read() as conn:
        conn.execute(text("DELETE FROM tickets"))
    store.close()


def _empty(database: Path) -> None:
    database.write_bytes(b"")


def _overwrite_middle(database: Path) -> None:
    with database.open("r+b") as file:
        file.seek(database.stat().st_size // 2 // 4096 * 4096)
        file.write(b"\xa5" * 4096)


def _halve(database: Path) -> None:
    os.truncate(database, database.stat().st_size // 2)


def _replace_by_text(database: Path) -> None:
    database.write_text("not a database, however long it is", encoding="utf-8")


def _replace_by_foreign(database: Path) -> None:
    database.unlink()
    with closing(sqlite3.connect(database)) as raw:
        raw.execute("CREATE TABLE notes (line TEXT)")


DAMAGE: dict[str, Callable[[Path], None]] = {
    "empty": _empty,
    "4 KiB overwritten": _overwrite_middle,
    "cut in half": _halve,
    "no database": _replace_by_text,
    "another program's database": _replace_by_foreign,
}


@pytest.mark.field_report("DMN-024")
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_dmn_024_a_damaged_database_is_refused_by_name_and_left_as_it_is(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    database = filled(tmp_path)
    damage(database)
    before = database.read_bytes()
    with pytest.raises(ConfigError, match="database-damaged") as caught:
        open_store(database, FakeClock(), role="daemon")
    assert str(database) in caught.value.what
    assert "--set-aside" in caught.value.hint
    assert database.read_bytes() == before


@pytest.mark.field_report("DMN-024")
def test_dmn_024_a_database_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    database = filled(tmp_path, 1)
    database.unlink()
    for _ in range(2):
        with pytest.raises(ConfigError, match="database-missing"):
            open_store(database, FakeClock(), role="cli")
    assert not database.exists()


@pytest.mark.field_report("DMN-024")
def test_dmn_024_an_old_database_under_the_log_that_follows_it_has_every_ticket(tmp_path: Path) -> None:
    database = filled(tmp_path, 50)
    old = database.read_bytes()
    put_back_by_hand(database, old, log_of(database, 50))
    again = open_store(database, FakeClock(), role="daemon")
    with again.read() as conn:
        titles = [ticket.title for ticket in queries_tickets.tickets(conn)]
    again.close()
    assert titles == [f"Ticket {number}" for number in range(50)] + [
        f"Later {number}" for number in range(50)
    ]


@pytest.mark.field_report("DMN-024")
def test_dmn_024_an_old_database_under_the_log_of_a_newer_one_is_refused_with_the_way_back(
    tmp_path: Path,
) -> None:
    """What was folded in between is in neither of the two."""
    database = filled(tmp_path, 50)
    old = database.read_bytes()
    store = open_store(database, FakeClock(), role="daemon")
    for number in range(30):
        queue.add(store, f"Between {number}", body="y" * 300)
    backup.make(database, taken_ms=FakeClock().now_ms(), kind="manual", schema=migrate.HEAD)
    store.checkpoint(cut=True)
    store.close()
    put_back_by_hand(database, old, log_of(database, 30))
    with pytest.raises(ConfigError, match="database-damaged") as caught:
        open_store(database, FakeClock(), role="daemon")
    assert "autopilot restore" in caught.value.hint
    restore(database, FakeClock(), source=None)
    again = open_store(database, FakeClock(), role="daemon")
    with again.read() as conn:
        assert queries_tickets.counts(conn)[State.QUEUED] == 80
    again.close()


def log_of(database: Path, tickets: int) -> bytes:
    """Add tickets whose pages stay in the write-ahead log, and give that log."""
    store = open_store(database, FakeClock(), role="cli")  # it does not checkpoint
    for number in range(tickets):
        queue.add(store, f"Later {number}", body="y" * 300)
    log = database.with_name(database.name + "-wal").read_bytes()
    store.close()
    return log


def put_back_by_hand(database: Path, content: bytes, log: bytes) -> None:
    """Copy a file over the database, as one does without `autopilot restore`; the log stays."""
    database.write_bytes(content)
    database.with_name(database.name + "-wal").write_bytes(log)


@pytest.mark.field_report("DMN-024")
def test_dmn_024_tickets_that_contradict_their_history_are_damage(tmp_path: Path) -> None:
    database = filled(tmp_path, 3)
    with closing(sqlite3.connect(database)) as raw:
        raw.execute("DELETE FROM history WHERE ticket = 2")
        raw.commit()
    with pytest.raises(ConfigError, match=r"T-2.*database-damaged"):
        open_store(database, FakeClock(), role="daemon")


@pytest.mark.field_report("DMN-024")
def test_dmn_024_damage_met_while_reading_is_named_and_health_sees_it(tmp_path: Path) -> None:
    database = filled(tmp_path)
    store = open_store(database, FakeClock(), role="cli")
    _overwrite_middle(database)
    with pytest.raises(ConfigError, match="database-damaged"):
        store.check()
    store.close()


def test_damaged_files_are_set_aside_only_on_a_persons_word_and_then_a_new_queue_begins(
    tmp_path: Path,
) -> None:
    database = filled(tmp_path)
    _empty(database)
    folder = begin_anew(database, FakeClock()).set_aside
    assert (folder / "autopilot.db").read_bytes() == b""
    store = open_store(database, FakeClock(), role="daemon")
    with store.read() as conn:
        assert queries_tickets.tickets(conn) == ()
    store.close()


def test_the_newest_backup_is_offered(tmp_path: Path) -> None:
    store = queue.new_store(tmp_path)
    queue.add(store, "Kept")
    copy = tmp_path / "backups" / "daily.db"
    copy.parent.mkdir()
    backup.write(store.database, copy)
    store.close()
    assert mode(copy) == 0o600
    _empty(store.database)
    with pytest.raises(ConfigError) as caught:
        open_store(store.database, FakeClock())
    assert str(copy) in caught.value.hint
    copy.replace(store.database)
    restored = open_store(store.database, FakeClock(), role="daemon")
    with restored.read() as conn:
        assert [ticket.title for ticket in queries_tickets.tickets(conn)] == ["Kept"]
    restored.close()


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    database = filled(tmp_path, 1)
    with closing(sqlite3.connect(database)) as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
        raw.commit()
    with pytest.raises(ConfigError, match="newer") as caught:
        open_store(database, FakeClock())
    assert caught.value.code == "database-newer"


def test_a_lock_that_is_never_let_go_ends_in_busy_and_not_in_a_wait_for_ever(tmp_path: Path) -> None:
    queue.new_store(tmp_path).close()
    store = open_store(tmp_path / "autopilot.db", FakeClock(), busy_ms=20)
    with closing(sqlite3.connect(store.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(TransientError, match="database-busy"):
            queue.add(store)
        other.execute("ROLLBACK")
    assert queue.add(store).id == "T-1"
    store.close()


def test_a_folder_that_cannot_be_written_names_itself(tmp_path: Path) -> None:
    missing = tmp_path / "nowhere" / "autopilot.db"
    with pytest.raises((AutopilotError, OSError)) as caught:
        open_store(missing, FakeClock())
    assert "nowhere" in str(caught.value)


def test_a_full_disk_is_named_and_what_was_there_stays(tmp_path: Path) -> None:
    store = queue.new_store(tmp_path)
    queue.add(store, "Kept")
    with store.write() as conn:
        pages = conn.execute(text("PRAGMA page_count")).scalar_one()
        conn.execute(text(f"PRAGMA max_page_count={pages}"))  # SQLite's own stand-in for a full disk
    with pytest.raises(TransientError, match="database-full"):
        queue.add(store, "Too much", body="x" * 50_000)
    assert queue.look(store, "T-1").title == "Kept"
    store.check()
    store.close()
