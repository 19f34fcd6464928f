"""Leases and fences of runs and publications, and the tokens that count for a ticket's whole life.

Frozen: a released migration is never edited. Only columns are added, so that no table is written anew.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; a publication under way gets the fence of the claim that it works for.

    What runs now has no lease, for nobody promised it one: it is judged by its process alone, as before.
    """
    op.add_column("attempts", sa.Column("lease_until_ms", sa.BigInteger()))
    op.add_column("attempts", sa.Column("boot", sa.Text()))
    op.add_column("attempts", sa.Column("tokens", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("tickets", sa.Column("tokens", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("publications", sa.Column("fence", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("publications", sa.Column("lease_until_ms", sa.BigInteger()))
    op.add_column("publications", sa.Column("boot", sa.Text()))
    op.execute(
        "UPDATE publications SET fence = (SELECT fence FROM tickets WHERE short_id = publications.ticket)"
        " WHERE state = 'running'"
    )
