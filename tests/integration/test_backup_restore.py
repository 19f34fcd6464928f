"""Bringing a copy back: only a good one, only while nobody works, and what was there is never deleted."""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from autopilot.daemon.lock import daemon_lock
from autopilot.daemon.store import backup, migrate, queries_host, queries_tickets, writes
from autopilot.daemon.store.engine import Store, open_store
from autopilot.schemas.machine import State
from tests.support import queue
from tests.support.cli import Cli
from tests.support.clock import FakeClock
from tests.support.in_order import assert_in_order

SIDECARS = ("-wal", "-shm")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A queue of three tickets, of which there is a copy."""
    cli = Cli(tmp_path / "home", config="")
    store = cli.store()
    writes.turn_on(store, by="test", ignore_window=True)
    for number in range(3):
        queue.add(store, f"Ticket {number}", body="x" * 3000)
    store.close()
    cli.told("backup")
    return cli


def titles(cli: Cli) -> list[str]:
    store = cli.store()
    with closing(store), store.read() as conn:
        return [ticket.title for ticket in queries_tickets.tickets(conn)]


def restored(cli: Cli, *words: str) -> dict[str, Any]:
    said = cli.call("restore", "--json", *words)
    assert said.code == 0, said
    answer: dict[str, Any] = said.json()
    return answer


def refused(cli: Cli, *words: str) -> str:
    before = {path.name: path.read_bytes() for path in cli.paths.state.glob("autopilot.db*")}
    said = cli.call("restore", "--json", *words)
    assert said.code in {3, 78}, said
    after = {path.name: path.read_bytes() for path in cli.paths.state.glob("autopilot.db*")}
    assert {name: data for name, data in after.items() if "-shm" not in name} == {
        name: data for name, data in before.items() if "-shm" not in name
    }
    return str(said.error["code"])


@pytest.mark.field_report("DMN-025")
def test_dmn_025_a_round_trip_with_a_log_beside_the_database_loses_nothing_of_either(cli: Cli) -> None:
    writer = cli.store()  # it does not checkpoint: what follows is in the log alone
    other = cli.store()
    for number in range(100):
        queue.add(writer, f"Later {number}")
    queue.claim(writer, queue.look(writer, "T-1"))
    # A killed process leaves its log behind; copied here, for closing would fold it in.
    kept = {name: (cli.paths.state / f"autopilot.db{name}").read_bytes() for name in ("", "-wal")}
    other.close()
    writer.close()
    for name, data in kept.items():
        (cli.paths.state / f"autopilot.db{name}").write_bytes(data)
    answer = restored(cli)
    aside = Path(answer["set_aside"])
    assert (aside / "autopilot.db-wal").read_bytes() == kept["-wal"]
    assert (aside / "autopilot.db").read_bytes() == kept[""]
    assert len(answer["newer"]["added"]) == 100
    assert answer["newer"]["moved"] == ["T-1"]
    assert titles(cli) == ["Ticket 0", "Ticket 1", "Ticket 2"]
    assert not any((cli.paths.state / f"autopilot.db{name}").exists() for name in SIDECARS)
    assert restored(cli, str(aside / "autopilot.db"))["backup"]["tickets"] == 103
    assert len(titles(cli)) == 103


def test_a_number_or_a_fence_that_was_given_meanwhile_is_not_given_again(cli: Cli) -> None:
    store = cli.store()
    for _ in range(3):
        claimed = queue.claim(store, queue.look(store, "T-2"))
        queue.end(store, claimed, queue.lost(claimed, "never-started"))
    queue.add(store, "T-4 in the meantime")
    store.close()
    (cli.paths.worktrees / "T-9").mkdir()
    (cli.paths.runs / "T-12-a1-0123abcd").mkdir()
    restored(cli)
    store = cli.store()
    writes.turn_on(store, by="test", ignore_window=True)
    assert queue.add(store, "New").id == "T-13"
    assert queue.claim(store, queue.look(store, "T-2")).attempt.fence > claimed.attempt.fence
    assert_in_order(store)
    store.close()


def test_it_is_refused_while_a_daemon_runs_or_another_has_the_queue_open(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    with daemon_lock(cli.paths.daemon_lock):
        assert refused(cli) == "daemon-running"
    monkeypatch.setattr(migrate, "_SOLE_TRIES", 2)
    with closing(cli.store()):
        assert refused(cli) == "database-in-use"
    restored(cli)


def _truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _zero(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2 // 4096 * 4096)
        file.write(b"\0" * 8192)


def _zero_whole(path: Path) -> None:
    path.write_bytes(b"\0" * path.stat().st_size)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE notes (line TEXT)")


def _contradict(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("DELETE FROM history WHERE ticket = 2")
        raw.commit()


Damage = Callable[[Path], None]
DAMAGE: list[Damage] = [_truncate, _zero, _zero_whole, _empty, _foreign, _contradict]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda one: getattr(one, "__name__", "").strip("_"))
def test_a_copy_that_cannot_be_believed_is_refused_and_the_next_good_one_is_the_default(
    cli: Cli, damage: Damage
) -> None:
    bad = Path(cli.call("backup", "--json").json()["backup"]["path"])
    damage(bad)
    assert refused(cli, str(bad)) == "backup-unsound"
    assert restored(cli)["backup"]["path"] != str(bad)
    assert len(titles(cli)) == 3


def test_a_copy_of_a_newer_schema_and_one_that_is_not_there_are_refused(cli: Cli, tmp_path: Path) -> None:
    newer = tmp_path / "newer.db"
    cli.told("backup", "--to", str(newer))
    with closing(sqlite3.connect(newer)) as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
        raw.commit()
    assert refused(cli, str(newer)) == "backup-newer"
    assert refused(cli, str(tmp_path / "nowhere.db")) == "backup-unknown"
    for path in (cli.paths.state / "backups").glob("*.db"):
        path.unlink()
    assert refused(cli) == "backup-unknown"


@pytest.mark.field_report("DMN-025")
def test_dmn_025_a_file_copied_with_cp_under_writes_is_brought_back_whole_or_refused(
    tmp_path: Path,
) -> None:
    cli = Cli(tmp_path / "home", config="")
    store = open_store(cli.paths.ensure().database, FakeClock(), role="daemon")
    writes.turn_on(store, by="test", ignore_window=True)
    for number in range(30):
        queue.add(store, f"Ticket {number}", body="x" * 2000)
    torn = tmp_path / "torn.db"
    data = store.database.read_bytes()
    torn.write_bytes(data[: len(data) // 2])
    for number in range(300):
        queue.add(store, f"Later {number}", body="y" * 2000)
    queue.commit(store, queue.look(store, "T-1"))
    whole = store.database.read_bytes()
    with torn.open("ab") as file:
        file.write(whole[len(data) // 2 :])
    torn.with_name("torn.db-wal").write_bytes(store.database.with_name("autopilot.db-wal").read_bytes())
    store.close()
    said = cli.call("restore", "--json", str(torn))
    if said.code:
        assert said.error["code"] == "backup-unsound"
        assert len(titles(cli)) == 330
    else:
        again = cli.store()
        again.check()
        with again.read() as conn:
            assert len(queries_tickets.tickets(conn)) == said.json()["backup"]["tickets"]
        assert_in_order(again)
        again.close()


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda one: getattr(one, "__name__", "").strip("_"))
def test_a_damaged_queue_names_the_command_that_brings_it_back_and_the_command_does(
    cli: Cli, damage: Damage
) -> None:
    damage(cli.paths.database)
    said = cli.call("doctor", "--json")
    assert said.code == 3
    (line,) = [line for line in said.json()["checks"] if line["name"] == "database"]
    command = line["cure"].split("`")[1]
    assert command.startswith("autopilot restore ")
    assert len(titles_or_none(cli)) in {0, 3}, "a damaged queue looked like another one"
    answer = restored(cli, *shlex.split(command)[2:])
    assert Path(answer["set_aside"]).is_dir()
    assert titles(cli) == ["Ticket 0", "Ticket 1", "Ticket 2"]


def titles_or_none(cli: Cli) -> list[str]:
    """The titles, or none where listing is refused; an empty queue that is not refused fails here."""
    said = cli.call("list", "--json")
    if said.code:
        assert said.code == 78, said
        assert said.error["code"].startswith("database-")
        assert "autopilot restore" in said.error["hint"]
        return []
    return [ticket["title"] for ticket in said.json()["tickets"]]


def test_a_database_that_is_gone_names_the_command_and_comes_back_with_it(cli: Cli) -> None:
    cli.paths.database.unlink()
    said = cli.call("list", "--json")
    assert (said.code, said.error["code"]) == (78, "database-missing")
    answer = restored(cli, *shlex.split(said.error["hint"].split("`")[1])[2:])
    assert answer["set_aside"] is None
    assert len(titles(cli)) == 3


def test_a_newer_schema_names_an_older_backup(cli: Cli) -> None:
    with closing(sqlite3.connect(cli.paths.database)) as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
        raw.commit()
    said = cli.call("list", "--json")
    assert (said.code, said.error["code"]) == (78, "database-newer")
    assert "newer version again" in said.error["hint"]
    restored(cli, *shlex.split(said.error["hint"].split("`")[1])[2:])
    assert len(titles(cli)) == 3


def test_a_new_machine_takes_a_copy_over(cli: Cli, tmp_path: Path) -> None:
    copy = tmp_path / "taken along.db"
    cli.told("backup", "--to", str(copy))
    new = Cli(tmp_path / "new home", config="")
    said = new.told("restore", str(copy))
    assert "3 tickets" in said
    assert len(titles(new)) == 3


def test_a_person_is_told_what_changed(cli: Cli) -> None:
    store = cli.store()
    queue.add(store, "Too late")
    store.close()
    said = cli.told("restore")
    assert "1 tickets were added after the backup: T-4" in said
    assert "replaced-" in said
    assert "nothing starts by itself" in said


def test_state_after_a_restore_moves_on_like_any_other(cli: Cli) -> None:
    restored(cli)
    store: Store = cli.store()
    store.check()
    with store.read() as conn:
        assert not queries_host.switch(conn).is_on, "what was restored may not start by itself"
    writes.turn_on(store, by="test", ignore_window=True)
    assert queue.publish(store, queue.commit(store, queue.look(store, "T-1"))).state is State.PUBLISHED
    assert backup.make(store.database, taken_ms=0, kind="manual", schema=migrate.HEAD).tickets == 3
    store.close()
