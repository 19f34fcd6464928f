"""`kill -9` in the middle of a migration, at every statement of it: the next start completes it.

A backup was made first, nothing is lost, and what is half done is never taken for done.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from autopilot.config.clock import SystemClock
from autopilot.daemon.store import copies, migrate
from autopilot.daemon.store.engine import open_store
from tests.support.in_order import assert_in_order
from tests.support.tree import ROOT

SAMPLES = ROOT / "tests" / "compat"
OLD = migrate.REVISIONS[:-1]
MANY = 50_000


def sample(schema: str, folder: Path) -> Path:
    """A database as the version with that schema wrote it, with no log beside it."""
    database = folder / f"store-{schema}.db"
    with closing(sqlite3.connect(database)) as raw:
        raw.executescript((SAMPLES / f"store-{schema}.sql").read_text(encoding="utf-8"))
        raw.execute("PRAGMA journal_mode=WAL")
    return database


def multiply(database: Path) -> None:
    """Make many finished tickets out of one, each with its history."""
    with closing(sqlite3.connect(database)) as raw:
        names = [row[1] for row in raw.execute("PRAGMA table_info(tickets)")]
        chosen = ", ".join({"short_id": "n", "source_key": "NULL"}.get(name, name) for name in names)
        many = f"WITH RECURSIVE many(n) AS (VALUES(1000) UNION ALL SELECT n + 1 FROM many LIMIT {MANY})"  # noqa: S608
        raw.execute(f"{many} INSERT INTO tickets SELECT {chosen} FROM tickets, many WHERE short_id = 8")  # noqa: S608
        raw.execute(
            f"{many} INSERT INTO history (ticket, trigger, from_state, to_state, at_ms, by, reason)"  # noqa: S608
            " SELECT n, trigger, from_state, to_state, at_ms, by, reason FROM history, many WHERE ticket = 8"
        )
        raw.commit()


def kills(pristine: Path | None, folder: Path, steps: str) -> list[dict[str, Any]]:
    """What became of each death."""
    folder.mkdir()
    program = [sys.executable, "-m", "tests.support.dying_migration"]
    done = subprocess.run(
        [*program, str(pristine or ""), str(folder), steps],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_completed(rows: list[dict[str, Any]], schema: str, tickets: int) -> None:
    assert rows
    for row in rows:
        assert row["died_by"] == signal.SIGKILL, row
        assert row["before"]["tickets"] == tickets, row
        assert row["before"]["schema"] in {schema, migrate.HEAD}, row
        assert row["reopened"] == 0, row
        assert row["after"] == {"schema": migrate.HEAD, "tickets": tickets}, row
        assert all(fault == "" for _, _, fault in row["backups"]), row
    half_way = [row for row in rows if row["backups"]]
    assert all([schema, tickets, ""] in row["backups"] for row in half_way)
    moved = [row for row in rows if row["before"]["schema"] == migrate.HEAD]
    assert all(row["backups"] for row in moved), "the schema was changed without a backup"
    assert len(half_way) > len(moved) or not moved, "no death came between the backup and the change"
    assert half_way


@pytest.mark.field_report("DMN-032")
@pytest.mark.parametrize("steps", ["statements/6", pytest.param("statements", marks=pytest.mark.slow)])
@pytest.mark.parametrize("schema", OLD)
def test_dmn_032_a_death_at_any_statement_of_a_migration_is_completed_by_the_next_start(
    schema: str, steps: str, tmp_path: Path
) -> None:
    pristine = sample(schema, tmp_path)
    rows = kills(pristine, tmp_path / "kills", steps)
    assert_completed(rows, schema, tickets=9)
    store = open_store(pristine, SystemClock(), role="daemon")
    assert_in_order(store)
    store.close()


@pytest.mark.slow
@pytest.mark.field_report("DMN-032")
def test_dmn_032_with_fifty_thousand_tickets_a_death_in_the_middle_of_a_statement_is_no_different(
    tmp_path: Path,
) -> None:
    pristine = sample(OLD[0], tmp_path)
    multiply(pristine)
    rows = kills(pristine, tmp_path / "kills", "8")
    assert len(rows) > 4
    for row in rows:
        assert row["died_by"] == signal.SIGKILL, row
        assert row["before"]["tickets"] == row["after"]["tickets"] == MANY + 9, row
        assert (row["reopened"], row["after"]["schema"]) == (0, migrate.HEAD), row
        assert all(fault == "" for _, _, fault in row["backups"]), row


@pytest.mark.parametrize("steps", ["statements/12", pytest.param("statements", marks=pytest.mark.slow)])
def test_a_death_while_the_first_database_is_made_leaves_none_or_a_whole_one(
    steps: str, tmp_path: Path
) -> None:
    rows = kills(None, tmp_path / "kills", steps)
    assert len(rows) > 3
    for row in rows:
        assert row["died_by"] == signal.SIGKILL, row
        assert row["before"] in (
            {"schema": None, "tickets": None},
            {"schema": migrate.HEAD, "tickets": 0},
        ), row
        assert row["reopened"] == 0, row
        assert row["after"] == {"schema": migrate.HEAD, "tickets": 0}


@pytest.mark.field_report("DMN-032")
def test_dmn_032_starts_that_fail_again_and_again_do_not_fill_the_disk_with_backups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = sample(OLD[0], tmp_path)

    def fails(_: Path) -> None:
        raise RuntimeError("the migration fails")

    monkeypatch.setattr(migrate, "_upgrade", fails)
    for _ in range(10):
        with pytest.raises(RuntimeError):
            open_store(old, SystemClock(), role="daemon")
    made = copies.in_folder(tmp_path / "backups")
    assert len(made) == 7
    monkeypatch.undo()
    open_store(old, SystemClock(), role="daemon").close()
