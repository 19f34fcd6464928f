"""Indexes by which SQLite finds what refers to a ticket or a run that goes.

Frozen: a released migration is never edited. Only indexes are added, so that no table is written anew.
"""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add them."""
    op.create_index("ix_dependencies_depends_on", "dependencies", ["depends_on"])
    op.create_index("ix_ledger_ticket", "ledger", ["ticket"])
    op.create_index("ix_ledger_run", "ledger", ["run_id"])
