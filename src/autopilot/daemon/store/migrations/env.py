"""What Alembic runs for every upgrade; `migrate.py` hands it the connection.

Must not open a database itself: the caller holds the transaction, so that an upgrade happens whole or not.
"""

from __future__ import annotations

from alembic import context


def upgrade() -> None:
    """Run the migrations inside the caller's transaction. SQLite's DDL is transactional."""
    context.configure(
        connection=context.config.attributes["connection"],
        transactional_ddl=True,
        render_as_batch=True,
    )
    with context.begin_transaction():
        context.run_migrations()


upgrade()
