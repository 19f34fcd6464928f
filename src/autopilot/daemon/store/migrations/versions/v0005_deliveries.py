"""What goes out through channels: what of it waits, what was sent, and what may have been.

Frozen: a released migration is never edited. Only a table is added, so that no table is written anew.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add it, empty."""
    op.create_table(
        "deliveries",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            primary_key=True,
            autoincrement=True,
        ),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("ticket", sa.Text()),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("not_before_ms", sa.BigInteger(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False, server_default=""),
        sa.Column("reason", sa.Text(), nullable=False, server_default=""),
        sa.Column("hint", sa.Text(), nullable=False, server_default=""),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("started_ms", sa.BigInteger()),
        sa.Column("ended_ms", sa.BigInteger()),
        sa.UniqueConstraint("subject", "channel", name="ux_deliveries_once"),
        sa.CheckConstraint(
            "state IN ('waiting','sending','sent','refused','failed','unsure')", name="ck_deliveries_state"
        ),
        sa.CheckConstraint(
            "(state IN ('waiting','sending')) = (ended_ms IS NULL)", name="ck_deliveries_ended"
        ),
    )
    op.create_index(
        "ix_deliveries_open",
        "deliveries",
        ["not_before_ms"],
        sqlite_where=sa.text("ended_ms IS NULL"),
        postgresql_where=sa.text("ended_ms IS NULL"),
    )
    op.create_index("ix_deliveries_ended", "deliveries", ["ended_ms"])
