"""What doctor says of the place, the backups and the log, and how an old file is made to give room back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from autopilot.config.clock import SystemClock
from autopilot.daemon.checkup import host
from autopilot.daemon.lock import daemon_lock
from autopilot.daemon.store import migrate
from autopilot.schemas.errors import ConfigError
from tests.support import queue
from tests.support.cli import Cli
from tests.support.clock import FakeClock


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    cli = Cli(tmp_path / "home", config="")
    store = cli.store()
    queue.add(store, "Kept")
    store.close()
    return cli


def line(cli: Cli, name: str) -> dict[str, str]:
    (found,) = [one for one in cli.call("doctor", "--json").json()["checks"] if one["name"] == name]
    return {str(key): str(value) for key, value in found.items()}


@pytest.mark.field_report("DMN-023")
def test_dmn_023_doctor_names_the_file_system_of_the_state_folder(cli: Cli) -> None:
    paths = cli.paths
    seen = host.state_folder(paths, mounts=lambda: {"/": "ext4", str(paths.state): "btrfs"})
    assert seen.verdict == "go"
    assert "btrfs" in seen.evidence
    with pytest.raises(ConfigError, match="virtiofs"):
        host.state_folder(paths, mounts=lambda: {"/": "ext4", str(paths.state): "virtiofs"})
    assert str(paths.state) in line(cli, "state")["evidence"]


def test_doctor_tells_of_the_newest_backup_and_of_one_that_is_damaged_or_old(cli: Cli) -> None:
    assert line(cli, "backups")["evidence"].startswith("none yet")
    cli.told("backup")
    seen = line(cli, "backups")
    assert (seen["verdict"], "with 1 tickets" in seen["evidence"]) == ("go", True)
    clock = FakeClock(start_ms=SystemClock().now_ms())
    clock.advance(4 * 24 * 3600)
    assert host.backups(cli.paths, clock).verdict == "warning"
    newest = Path(cli.call("backup", "--json").json()["backup"]["path"])
    newest.write_bytes(b"")
    seen = line(cli, "backups")
    assert (seen["verdict"], str(newest) in seen["evidence"]) == ("warning", True)
    for path in newest.parent.glob("*.db"):
        path.write_bytes(b"")
    assert line(cli, "backups")["cure"] == "autopilot backup makes one"


def test_doctor_names_who_keeps_the_log_from_being_folded_in(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "TELL_BYTES", 1)
    other = cli.store()
    queue.add(other, "In the log")
    seen = line(cli, "database")
    other.close()
    assert seen["verdict"] == "warning"
    assert "write-ahead log has grown" in seen["evidence"]
    assert "(pid " in seen["cure"]


def test_an_old_file_is_written_anew_and_can_give_room_back_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = Cli(tmp_path, config="")
    database = cli.paths.ensure().database
    with closing(sqlite3.connect(database)) as raw:
        raw.executescript(Path("tests/compat/store-0001.sql").read_text(encoding="utf-8"))
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("CREATE TABLE ballast (x)")
        raw.execute("INSERT INTO ballast VALUES (zeroblob(3000000))")
        raw.execute("DROP TABLE ballast")
        raw.commit()
    sizes = cli.call("doctor", "--compact", "--json").json()
    assert sizes["before_bytes"] > 3_000_000 > sizes["after_bytes"]
    with closing(sqlite3.connect(database)) as raw:
        assert raw.execute("PRAGMA auto_vacuum").fetchone() == (2,)
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert len(cli.call("list", "--json").json()["tickets"]) == 9
    assert "MiB now" in cli.told("doctor", "--compact")
    monkeypatch.setattr(migrate, "_SOLE_TRIES", 2)
    with closing(cli.store()):
        assert cli.call("doctor", "--compact", "--json").error["code"] == "database-in-use"
    with daemon_lock(cli.paths.daemon_lock):
        assert cli.call("doctor", "--compact", "--json").error["code"] == "daemon-running"
