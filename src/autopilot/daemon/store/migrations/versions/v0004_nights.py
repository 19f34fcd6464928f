"""What a night was disturbed by, how each schedule went last, and which sleep locks are held.

Frozen: a released migration is never edited. Only tables are added, so that no table is written anew.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add them, empty."""
    op.create_table(
        "sleeps",
        sa.Column("started_ms", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("slept_ms", sa.BigInteger(), nullable=False),
        sa.Column("lost_ms", sa.BigInteger(), nullable=False),
        sa.Column("runs", sa.JSON(), nullable=False),
    )
    op.create_table(
        "schedules",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("due_ms", sa.BigInteger(), nullable=False),
        sa.Column("ended_ms", sa.BigInteger(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("next_ms", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "awake_locks",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("warning", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("since_ms", sa.BigInteger(), nullable=False),
    )
