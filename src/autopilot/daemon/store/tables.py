"""The tables, once for SQLite and PostgreSQL.

Must not be used to create them: `migrations/` does, and a test compares the two. What an index leaves out is
said to SQLite alone: the word for PostgreSQL would load all of that dialect into every process that opens the
queue. Times are UTC epoch ms, money is micro-dollars. A rule that must never break is a constraint here, not
only a line of code.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
    text,
)

ROW_ID = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself only for INTEGER
_MS = BigInteger
_MONEY = BigInteger

METADATA = MetaData()

TICKETS = Table(
    "tickets",
    METADATA,
    Column("short_id", ROW_ID, primary_key=True, autoincrement=True),
    Column("state", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("acceptance", JSON, nullable=False),
    Column("repo", Text, nullable=False),
    Column("base", Text),
    Column("priority", Integer, nullable=False),
    Column("agent", Text),
    Column("source_key", Text),
    Column("branch", Text, nullable=False),
    Column("created_ms", _MS, nullable=False),
    Column("updated_ms", _MS, nullable=False),
    Column("not_before_ms", _MS, nullable=False, server_default="0"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("releases", Integer, nullable=False, server_default="0"),
    Column("sessions", Integer, nullable=False, server_default="0"),
    Column("losses", Integer, nullable=False, server_default="0"),
    Column("ask_rounds", Integer, nullable=False, server_default="0"),
    Column("cancel_requested", Boolean, nullable=False, server_default=text("false")),
    Column("waiting_for", Text),
    Column("reason", Text, nullable=False, server_default=""),
    Column("hint", Text, nullable=False, server_default=""),
    Column("claim_token", Text),
    Column("fence", Integer, nullable=False, server_default="0"),
    Column("run_id", Text),
    Column("head", Text),
    Column("pr_url", Text),
    Column("spent_micro_usd", _MONEY, nullable=False, server_default="0"),
    Column("tokens", BigInteger, nullable=False, server_default="0"),
    CheckConstraint(
        "state IN ('queued','running','committed','publishing','published','parked','failed','cancelled')",
        name="ck_tickets_state",
    ),
    CheckConstraint(
        "(state IN ('running','publishing')) = (claim_token IS NOT NULL)", name="ck_tickets_claim"
    ),
    CheckConstraint("(state = 'parked') = (waiting_for IS NOT NULL)", name="ck_tickets_parked"),
    CheckConstraint(
        "attempts >= 0 AND releases >= 0 AND sessions >= 0 AND spent_micro_usd >= 0", name="ck_tickets_counts"
    ),
    # The claim reads the head of the queue from this index alone, however long queue and history are.
    Index(
        "ix_tickets_queued",
        "priority",
        "not_before_ms",
        "short_id",
        sqlite_where=text("state = 'queued'"),
    ),
    Index(
        "ix_tickets_committed",
        "priority",
        "not_before_ms",
        "short_id",
        sqlite_where=text("state = 'committed'"),
    ),
    Index("ix_tickets_state", "state", "short_id"),
    Index(
        "ux_tickets_source_key",
        "source_key",
        unique=True,
        sqlite_where=text("source_key IS NOT NULL"),
    ),
    sqlite_autoincrement=True,  # a number is never given twice, even after its ticket is gone
)

DEPENDENCIES = Table(
    "dependencies",
    METADATA,
    Column("ticket", ROW_ID, ForeignKey("tickets.short_id"), primary_key=True),
    Column("depends_on", ROW_ID, ForeignKey("tickets.short_id"), primary_key=True),
    # An order may only wait for an older one, so that no circle can ever form.
    CheckConstraint("depends_on < ticket", name="ck_dependencies_older"),
    # SQLite looks for what refers to a row that goes; without an index it reads the whole table for each.
    Index("ix_dependencies_depends_on", "depends_on"),
)

EXCHANGES = Table(
    "exchanges",
    METADATA,
    Column("id", ROW_ID, primary_key=True, autoincrement=True),
    Column("ticket", ROW_ID, ForeignKey("tickets.short_id"), nullable=False),
    Column("run_id", Text),
    Column("question", Text, nullable=False),
    Column("asked_ms", _MS, nullable=False),
    Column("answer", Text),
    Column("answered_ms", _MS),
    Index("ix_exchanges_ticket", "ticket"),
)

HISTORY = Table(
    "history",
    METADATA,
    Column("id", ROW_ID, primary_key=True, autoincrement=True),
    Column("ticket", ROW_ID, ForeignKey("tickets.short_id"), nullable=False),
    Column("trigger", Text, nullable=False),
    Column("from_state", Text),
    Column("to_state", Text, nullable=False),
    Column("at_ms", _MS, nullable=False),
    Column("by", Text, nullable=False),
    Column("run_id", Text),
    Column("reason", Text, nullable=False),
    Index("ix_history_ticket", "ticket"),
    Index("ix_history_at", "at_ms"),
)

ATTEMPTS = Table(
    "attempts",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("ticket", ROW_ID, ForeignKey("tickets.short_id"), nullable=False),
    Column("no", Integer, nullable=False),
    Column("session", Integer, nullable=False),
    Column("agent", Text, nullable=False),
    Column("repo", Text, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("claim_token", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("pid", BigInteger),
    Column("pid_started_ms", _MS),
    Column("started_ms", _MS, nullable=False),
    Column("finished_ms", _MS),
    Column("outcome", Text),
    Column("code", Text, nullable=False, server_default=""),
    Column("message", Text, nullable=False, server_default=""),
    Column("reserved_micro_usd", _MONEY, nullable=False),
    Column("spent_micro_usd", _MONEY, nullable=False, server_default="0"),
    Column("spend_known", Boolean, nullable=False, server_default=text("false")),
    Column("produced", Boolean),
    Column("failure_class", Text),
    Column("is_probe", Boolean, nullable=False),
    Column("ended_by", Text),
    Column("head", Text),
    Column("base_sha", Text),
    Column("lease_until_ms", _MS),
    Column("boot", Text),
    Column("tokens", BigInteger, nullable=False, server_default="0"),
    UniqueConstraint("ticket", "session", name="ux_attempts_session"),
    CheckConstraint("state IN ('running','finished')", name="ck_attempts_state"),
    CheckConstraint("(state = 'finished') = (finished_ms IS NOT NULL)", name="ck_attempts_finished"),
    CheckConstraint("reserved_micro_usd >= 0 AND spent_micro_usd >= 0", name="ck_attempts_money"),
    Index(
        "ux_attempts_running",
        "ticket",
        unique=True,
        sqlite_where=text("state = 'running'"),
    ),
    Index("ix_attempts_finished", "finished_ms"),
    Index("ix_attempts_started", "started_ms"),
)

# Literals, not parameters: SQLite uses a partial index only where the statement shows its condition.
# Source: https://www.sqlite.org/partialindex.html, "Queries Using Partial Indexes"
IS_QUEUED = TICKETS.c.state == literal_column("'queued'")
IS_COMMITTED = TICKETS.c.state == literal_column("'committed'")
IS_LIVE_RUN = ATTEMPTS.c.state == literal_column("'running'")
