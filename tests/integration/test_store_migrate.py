"""A change of schema: with a backup first, whole or not at all, never under somebody who has it open."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, text

from autopilot.daemon.store import migrate, tables_host
from autopilot.daemon.store.engine import Store, open_store
from autopilot.schemas.errors import ConfigError
from tests.support import queue
from tests.support.clock import FakeClock
from tests.support.tree import ROOT

STORE = Path("src/autopilot/daemon/store")
METADATA = tables_host.LEDGER.metadata
AHEAD = f"{int(migrate.HEAD) + 1:04}"
NEXT = f'''"""What the next version might change."""
import sqlalchemy as sa
from alembic import op

revision = "{AHEAD}"
down_revision = "{migrate.HEAD}"


def upgrade() -> None:
    op.add_column("tickets", sa.Column("mood", sa.Text(), nullable=False, server_default="calm"))
'''
_ENDS = re.compile(r",? *\n|, (?=\w+ [A-Z]+)|\)$")
BROKEN = NEXT + '    op.drop_table("nowhere")\n'
PROGRAM = """
import json, sys, traceback
from pathlib import Path
from autopilot.config.clock import SystemClock
from autopilot.daemon.store.engine import open_store
from autopilot.schemas.errors import AutopilotError
try:
    open_store(Path(sys.argv[1]), SystemClock(), role="daemon").close()
    print(json.dumps({"code": "ok"}))
except AutopilotError as error:
    print(json.dumps({"code": error.code}))
"""


def run_next_version(folder: Path, database: Path, revision: str = NEXT) -> str:
    """Open the database with a copy of this program that has one schema more; gives its error code."""
    root = folder / "next"
    shutil.copytree(ROOT / "src", root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    store = root / STORE.relative_to("src")
    (store / f"migrations/versions/v{AHEAD}_mood.py").write_text(revision, encoding="utf-8")
    source = (store / "migrate.py").read_text(encoding="utf-8")
    newer = source.replace(f'"{migrate.HEAD}")', f'"{migrate.HEAD}", "{AHEAD}")')
    newer = newer.replace("_LOCK_TRIES = 500", "_LOCK_TRIES = 5")
    assert newer.count(AHEAD) == 1
    (store / "migrate.py").write_text(newer, encoding="utf-8")
    command = [sys.executable, "-c", PROGRAM, str(database)]
    done = subprocess.run(command, env={"PYTHONPATH": str(root)}, capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return str(answer["code"])


@pytest.fixture
def old(tmp_path: Path) -> Path:
    store = queue.new_store(tmp_path)
    queue.add(store, "Older than the schema")
    store.close()
    return store.database


def columns(database: Path) -> set[str]:
    with closing(sqlite3.connect(database)) as raw:
        return {row[1] for row in raw.execute("PRAGMA table_info(tickets)")}


def test_an_older_schema_is_brought_up_after_a_backup_of_it(old: Path, tmp_path: Path) -> None:
    assert run_next_version(tmp_path, old) == "ok"
    assert "mood" in columns(old)
    (backup,) = (old.parent / "backups").iterdir()
    assert backup.name.startswith(f"autopilot-{migrate.HEAD}-")
    assert backup.stat().st_mode & 0o777 == 0o600
    assert "mood" not in columns(backup)
    with closing(sqlite3.connect(backup)) as raw:
        assert raw.execute("SELECT title FROM tickets").fetchall() == [("Older than the schema",)]


def test_an_older_program_refuses_the_newer_schema(old: Path, tmp_path: Path) -> None:
    assert run_next_version(tmp_path, old) == "ok"
    with pytest.raises(ConfigError, match=f"{AHEAD}, newer than this program's {migrate.HEAD}"):
        open_store(old, FakeClock())


def test_nobody_migrates_a_database_that_another_has_open(old: Path, tmp_path: Path) -> None:
    daemon = open_store(old, FakeClock(), role="daemon")
    assert run_next_version(tmp_path, old) == "database-in-use"
    assert "mood" not in columns(old)
    assert queue.add(daemon).id == "T-2"
    daemon.close()
    assert run_next_version(tmp_path, old) == "ok"


def test_a_migration_that_fails_halfway_changes_nothing(old: Path, tmp_path: Path) -> None:
    assert "no such table: nowhere" in run_next_version(tmp_path, old, BROKEN)
    assert "mood" not in columns(old)
    store = open_store(old, FakeClock(), role="daemon")
    assert queue.look(store, "T-1").title == "Older than the schema"
    store.close()


def test_the_migrations_make_exactly_the_tables_that_the_program_uses(store: Store) -> None:
    declared = create_engine("sqlite://")
    METADATA.create_all(declared)
    with store.read() as conn, declared.connect() as other:
        context = MigrationContext.configure(conn, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []
        migrated, wanted = _definitions(conn), _definitions(other)
    declared.dispose()
    assert migrated == wanted


def _definitions(conn: Connection) -> dict[str, set[str]]:
    """Each table's and index's definition as a set of lines: columns, defaults, checks, keys, conditions.

    A column that was added later stands on the last line, after what the table ended with.
    """
    statement = text("SELECT name, sql FROM sqlite_master WHERE sql NOT NULL AND name NOT LIKE 'sqlite_%'")
    return {
        name: {line.strip() for line in _ENDS.split(sql)} - {""}
        for name, sql in conn.execute(statement)
        if name != "alembic_version"
    }


def test_the_program_knows_every_migration_by_name_and_they_form_one_line() -> None:
    config = Config()
    config.set_main_option("script_location", str(ROOT / STORE / "migrations"))
    config.set_main_option("path_separator", "os")
    script = ScriptDirectory.from_config(config)
    names = [revision.revision for revision in script.walk_revisions()]
    assert tuple(reversed(names)) == migrate.REVISIONS
    assert script.get_heads() == [migrate.HEAD]
    assert not any(hasattr(revision.module, "downgrade") for revision in script.walk_revisions())
