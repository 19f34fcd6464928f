"""The same tables and locks on the database that a fleet would use; only what SQLite lacks differs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import resources
from io import StringIO

import pytest
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import Index, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import CreateIndex, CreateTable

from autopilot.daemon.store.tables import METADATA
from autopilot.daemon.store.tables_host import SWITCH

PARTIAL = {
    "ix_tickets_queued",
    "ix_tickets_committed",
    "ux_tickets_source_key",
    "ux_attempts_running",
    "ux_ledger_once",
    "ux_publications_running",
    "ix_publications_open",
    "ix_deliveries_open",
}
_PARTIAL_INDEX = re.compile(r"CREATE (UNIQUE )?INDEX (?P<name>\w+) ON .* WHERE (?P<where>.*)")
DIALECTS: list[Dialect] = [sqlite.dialect(), postgresql.dialect()]  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("dialect", DIALECTS, ids=["sqlite", "postgresql"])
def test_every_table_can_be_written_down(dialect: Dialect) -> None:
    for table in METADATA.sorted_tables:
        assert table.name in str(CreateTable(table).compile(dialect=dialect))


def test_the_migrations_make_the_same_partial_indexes_on_both() -> None:
    indexes: list[Index] = [index for table in METADATA.tables.values() for index in table.indexes]
    declared = [str(CreateIndex(index).compile(dialect=sqlite.dialect())) for index in indexes]
    assert conditions(declared).keys() == PARTIAL
    assert conditions(migrated("sqlite")) == conditions(migrated("postgresql")) == conditions(declared)


def migrated(dialect: str) -> list[str]:
    """Give what the migrations say to a database that is empty."""
    told, config = StringIO(), Config()
    scripts = resources.files("autopilot.daemon.store") / "migrations"
    config.set_main_option("script_location", str(scripts).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    context = MigrationContext.configure(
        dialect_name=dialect, opts={"as_sql": True, "output_buffer": told, "render_as_batch": True}
    )
    with Operations.context(context):
        for revision in reversed(list(ScriptDirectory.from_config(config).walk_revisions())):
            revision.module.upgrade()
    return told.getvalue().split(";")


def conditions(statements: Iterable[str]) -> dict[str, str]:
    """Give what each partial index is limited to."""
    found = (_PARTIAL_INDEX.search(statement) for statement in statements)
    return {match["name"]: match["where"] for match in found if match}


def test_claimers_queue_at_a_row_where_there_is_no_single_writer() -> None:
    statement = select(SWITCH.c.id).with_for_update()
    texts = [str(statement.compile(dialect=dialect)) for dialect in DIALECTS]
    assert ["FOR UPDATE" in text for text in texts] == [False, True]
