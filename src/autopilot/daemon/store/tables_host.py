"""The tables of money, gates, publications and the host. See `tables.py`."""

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
    Table,
    Text,
    UniqueConstraint,
    literal_column,
    text,
)

from autopilot.daemon.store.tables import METADATA, ROW_ID

_MS = BigInteger

LEDGER = Table(
    "ledger",
    METADATA,
    Column("id", ROW_ID, primary_key=True, autoincrement=True),
    Column("run_id", Text, ForeignKey("attempts.run_id"), nullable=False),
    Column("ticket", ROW_ID, ForeignKey("tickets.short_id"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("micro_usd", BigInteger, nullable=False),
    Column("known", Boolean, nullable=False),
    Column("at_ms", _MS, nullable=False),
    CheckConstraint("kind IN ('reserved','settled','raised')", name="ck_ledger_kind"),
    CheckConstraint("micro_usd >= 0", name="ck_ledger_money"),
    Index(
        "ux_ledger_once",
        "run_id",
        "kind",
        unique=True,
        sqlite_where=text("kind <> 'raised'"),
    ),
    Index("ix_ledger_at", "at_ms"),
    Index("ix_ledger_ticket", "ticket"),
    Index("ix_ledger_run", "run_id"),
)

GATES = Table(
    "gates",
    METADATA,
    Column("id", ROW_ID, primary_key=True, autoincrement=True),
    Column("ticket", ROW_ID, ForeignKey("tickets.short_id"), nullable=False),
    Column("run_id", Text, nullable=False),
    Column("head", Text, nullable=False),
    Column("record", JSON, nullable=False),
    Index("ix_gates_ticket", "ticket"),
)

PUBLICATIONS = Table(
    "publications",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("ticket", ROW_ID, ForeignKey("tickets.short_id"), nullable=False),
    Column("run_id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("repo", Text, nullable=False),
    Column("base", Text, nullable=False),
    Column("base_sha", Text, nullable=False),
    Column("branch", Text, nullable=False),
    Column("head", Text, nullable=False),
    Column("idempotency_key", Text, nullable=False, unique=True),
    Column("expected_remote_head", Text),
    Column("tries", Integer, nullable=False),
    Column("losses", Integer, nullable=False, server_default="0"),
    Column("pid", BigInteger),
    Column("pid_started_ms", _MS),
    Column("pushed", Text),
    Column("outcome", Text),
    Column("code", Text, nullable=False, server_default=""),
    Column("message", Text, nullable=False, server_default=""),
    Column("pr_url", Text),
    Column("pr_number", Integer),
    Column("pr_state", Text),
    Column("created_ms", _MS, nullable=False),
    Column("started_ms", _MS, nullable=False),
    Column("finished_ms", _MS),
    Column("fence", Integer, nullable=False, server_default="0"),
    Column("lease_until_ms", _MS),
    Column("boot", Text),
    UniqueConstraint("ticket", "head", name="ux_publications_head"),
    CheckConstraint("state IN ('running','deferred','done','refused')", name="ck_publications_state"),
    Index(
        "ux_publications_running",
        "ticket",
        unique=True,
        sqlite_where=text("state = 'running'"),
    ),
    Index(
        "ix_publications_open",
        "repo",
        sqlite_where=text("pr_state = 'open'"),
    ),
    Index("ix_publications_finished", "finished_ms"),
)

BREAKERS = Table(
    "breakers",
    METADATA,
    Column("scope", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("failure_class", Text),
    Column("opened_ms", _MS),
    Column("cooldown_until_ms", _MS),
    Column("cooldown_ms", _MS, nullable=False),
    Column("probe_run_id", Text),
    CheckConstraint("state IN ('closed','open','half-open')", name="ck_breakers_state"),
    CheckConstraint("(state = 'half-open') = (probe_run_id IS NOT NULL)", name="ck_breakers_probe"),
)

AGENT_WINDOWS = Table(
    "agent_windows",
    METADATA,
    Column("agent", Text, primary_key=True),
    Column("since_ms", _MS, nullable=False),
    Column("resets_ms", _MS, nullable=False),
    Column("reason", Text, nullable=False),
    Column("probe_run_id", Text),
)

SWITCH = Table(
    "switch",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("is_on", Boolean, nullable=False),
    Column("ignore_window", Boolean, nullable=False),
    Column("until_ms", _MS),
    Column("off_mode", Text, nullable=False),
    Column("drain_until_ms", _MS),
    Column("changed_ms", _MS, nullable=False),
    Column("by", Text, nullable=False),
    CheckConstraint("id = 1", name="ck_switch_single"),
    CheckConstraint("off_mode IN ('finish','drain','now')", name="ck_switch_mode"),
)

HOLDS = Table(
    "holds",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("scope", Text, primary_key=True),
    Column("cause", Text, nullable=False),
    Column("since_ms", _MS, nullable=False),
    Column("cure", Text, nullable=False),
    Column("clears_ms", _MS),
)

PAST_HOLDS = Table(
    "past_holds",
    METADATA,
    Column("id", ROW_ID, primary_key=True, autoincrement=True),
    Column("name", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("cause", Text, nullable=False),
    Column("cure", Text, nullable=False),
    Column("since_ms", _MS, nullable=False),
    Column("until_ms", _MS, nullable=False),
    Column("held_ms", _MS, nullable=False),
    Column("times", Integer, nullable=False),
    Index("ix_past_holds_until", "until_ms"),
)

FIRINGS = Table(
    "firings",
    METADATA,
    Column("schedule", Text, primary_key=True),
    Column("nominal_ms", _MS, primary_key=True),
    Column("fired_ms", _MS, nullable=False),
)

SLEEPS = Table(
    "sleeps",
    METADATA,
    Column("started_ms", _MS, primary_key=True, autoincrement=False),
    Column("slept_ms", _MS, nullable=False),
    Column("lost_ms", _MS, nullable=False),
    Column("runs", JSON, nullable=False),
)

SCHEDULES = Table(
    "schedules",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("due_ms", _MS, nullable=False),
    Column("ended_ms", _MS, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("next_ms", _MS, nullable=False),
)

AWAKE_LOCKS = Table(
    "awake_locks",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("warning", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("since_ms", _MS, nullable=False),
)

DELIVERIES = Table(
    "deliveries",
    METADATA,
    Column("id", ROW_ID, primary_key=True, autoincrement=True),
    Column("subject", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("ticket", Text),
    Column("text", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("tries", Integer, nullable=False, server_default="0"),
    Column("not_before_ms", _MS, nullable=False),
    Column("code", Text, nullable=False, server_default=""),
    Column("reason", Text, nullable=False, server_default=""),
    Column("hint", Text, nullable=False, server_default=""),
    Column("created_ms", _MS, nullable=False),
    Column("started_ms", _MS),
    Column("ended_ms", _MS),
    UniqueConstraint("subject", "channel", name="ux_deliveries_once"),
    CheckConstraint(
        "state IN ('waiting','sending','sent','refused','failed','unsure')", name="ck_deliveries_state"
    ),
    CheckConstraint("(state IN ('waiting','sending')) = (ended_ms IS NULL)", name="ck_deliveries_ended"),
    Index(
        "ix_deliveries_open",
        "not_before_ms",
        sqlite_where=text("ended_ms IS NULL"),
    ),
    Index("ix_deliveries_ended", "ended_ms"),
)

# See the end of `tables.py`.
IS_LIVE_PUBLICATION = PUBLICATIONS.c.state == literal_column("'running'")
IS_OPEN_DRAFT = PUBLICATIONS.c.pr_state == literal_column("'open'")
