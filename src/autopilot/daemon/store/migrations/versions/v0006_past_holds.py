"""What held the queue and does no longer: a digest tells of the night, and not of its last moment alone.

Frozen: a released migration is never edited. Only a table is added, so that no table is written anew.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add it, empty."""
    op.create_table(
        "past_holds",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            primary_key=True,
            autoincrement=True,
        ),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("cure", sa.Text(), nullable=False),
        sa.Column("since_ms", sa.BigInteger(), nullable=False),
        sa.Column("until_ms", sa.BigInteger(), nullable=False),
        sa.Column("held_ms", sa.BigInteger(), nullable=False),
        sa.Column("times", sa.Integer(), nullable=False),
    )
    op.create_index("ix_past_holds_until", "past_holds", ["until_ms"])
