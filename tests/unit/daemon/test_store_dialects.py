"""The same tables and locks on the database that a fleet would use; only what SQLite lacks differs."""

from __future__ import annotations

import pytest
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
DIALECTS: list[Dialect] = [sqlite.dialect(), postgresql.dialect()]  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("dialect", DIALECTS, ids=["sqlite", "postgresql"])
def test_every_table_and_every_partial_index_can_be_written_down(dialect: Dialect) -> None:
    for table in METADATA.sorted_tables:
        assert table.name in str(CreateTable(table).compile(dialect=dialect))
    indexes: list[Index] = [index for table in METADATA.tables.values() for index in table.indexes]
    partial = {
        index.name for index in indexes if " WHERE " in str(CreateIndex(index).compile(dialect=dialect))
    }
    assert partial == PARTIAL


def test_claimers_queue_at_a_row_where_there_is_no_single_writer() -> None:
    statement = select(SWITCH.c.id).with_for_update()
    texts = [str(statement.compile(dialect=dialect)) for dialect in DIALECTS]
    assert ["FOR UPDATE" in text for text in texts] == [False, True]
