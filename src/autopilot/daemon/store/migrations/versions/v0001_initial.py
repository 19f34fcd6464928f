"""The first schema: queue, attempts, money, gates, publications and the host's own rows.

Frozen: a released migration is never edited. The next change is the next file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from alembic import op

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make every table; the ones that others refer to come first."""
    _tickets()
    _ticket_indexes()
    _beside_tickets()
    _attempts()
    _money_and_gates()
    _publications()
    _brakes()
    _host()


def _text(*names: str, null: bool = False, default: str | None = None) -> Iterator[sa.Column[Any]]:
    return (sa.Column(name, sa.Text(), nullable=null, server_default=default) for name in names)


def _int(*names: str, null: bool = False, default: str | None = None) -> Iterator[sa.Column[Any]]:
    return (sa.Column(name, sa.Integer(), nullable=null, server_default=default) for name in names)


def _big(*names: str, null: bool = False, default: str | None = None) -> Iterator[sa.Column[Any]]:
    return (sa.Column(name, sa.BigInteger(), nullable=null, server_default=default) for name in names)


def _bool(*names: str, null: bool = False, default: str | None = None) -> Iterator[sa.Column[Any]]:
    value = None if default is None else sa.text(default)
    return (sa.Column(name, sa.Boolean(), nullable=null, server_default=value) for name in names)


def _row_type() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _id(name: str = "id") -> sa.Column[Any]:
    return sa.Column(name, _row_type(), primary_key=True, autoincrement=True)


def _ticket(name: str = "ticket", *, key: bool = False) -> sa.Column[Any]:
    return sa.Column(name, _row_type(), sa.ForeignKey("tickets.short_id"), nullable=False, primary_key=key)


def _where(condition: str) -> Mapping[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def _tickets() -> None:
    op.create_table(
        "tickets",
        _id("short_id"),
        *_text("state", "title", "body"),
        sa.Column("acceptance", sa.JSON(), nullable=False),
        *_text("repo"),
        *_text("base", null=True),
        *_int("priority"),
        *_text("agent", "source_key", null=True),
        *_text("branch"),
        *_big("created_ms", "updated_ms"),
        *_big("not_before_ms", default="0"),
        *_int("attempts", "releases", "sessions", "losses", "ask_rounds", default="0"),
        *_bool("cancel_requested", default="false"),
        *_text("waiting_for", null=True),
        *_text("reason", "hint", default=""),
        *_text("claim_token", null=True),
        *_int("fence", default="0"),
        *_text("run_id", "head", "pr_url", null=True),
        *_big("spent_micro_usd", default="0"),
        sa.CheckConstraint(
            "state IN ('queued','running','committed','publishing',"
            "'published','parked','failed','cancelled')",
            name="ck_tickets_state",
        ),
        sa.CheckConstraint(
            "(state IN ('running','publishing')) = (claim_token IS NOT NULL)", name="ck_tickets_claim"
        ),
        sa.CheckConstraint("(state = 'parked') = (waiting_for IS NOT NULL)", name="ck_tickets_parked"),
        sa.CheckConstraint(
            "attempts >= 0 AND releases >= 0 AND sessions >= 0 AND spent_micro_usd >= 0",
            name="ck_tickets_counts",
        ),
        sqlite_autoincrement=True,
    )


def _ticket_indexes() -> None:
    order = ["priority", "not_before_ms", "short_id"]
    op.create_index("ix_tickets_queued", "tickets", order, **_where("state = 'queued'"))
    op.create_index("ix_tickets_committed", "tickets", order, **_where("state = 'committed'"))
    op.create_index("ix_tickets_state", "tickets", ["state", "short_id"])
    op.create_index(
        "ux_tickets_source_key", "tickets", ["source_key"], unique=True, **_where("source_key IS NOT NULL")
    )


def _beside_tickets() -> None:
    op.create_table(
        "dependencies",
        _ticket(key=True),
        _ticket("depends_on", key=True),
        sa.CheckConstraint("depends_on < ticket", name="ck_dependencies_older"),
    )
    op.create_table(
        "exchanges",
        _id(),
        _ticket(),
        *_text("run_id", null=True),
        *_text("question"),
        *_big("asked_ms"),
        *_text("answer", null=True),
        *_big("answered_ms", null=True),
    )
    op.create_index("ix_exchanges_ticket", "exchanges", ["ticket"])
    op.create_table(
        "history",
        _id(),
        _ticket(),
        *_text("trigger"),
        *_text("from_state", null=True),
        *_text("to_state"),
        *_big("at_ms"),
        *_text("by"),
        *_text("run_id", null=True),
        *_text("reason"),
    )
    op.create_index("ix_history_ticket", "history", ["ticket"])
    op.create_index("ix_history_at", "history", ["at_ms"])


def _attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("run_id", sa.Text(), primary_key=True),
        _ticket(),
        *_int("no", "session"),
        *_text("agent", "repo"),
        *_int("fence"),
        *_text("claim_token", "state"),
        *_big("pid", "pid_started_ms", null=True),
        *_big("started_ms"),
        *_big("finished_ms", null=True),
        *_text("outcome", null=True),
        *_text("code", "message", default=""),
        *_big("reserved_micro_usd"),
        *_big("spent_micro_usd", default="0"),
        *_bool("spend_known", default="false"),
        *_bool("produced", null=True),
        *_text("failure_class", null=True),
        *_bool("is_probe"),
        *_text("ended_by", "head", "base_sha", null=True),
        sa.UniqueConstraint("ticket", "session", name="ux_attempts_session"),
        sa.CheckConstraint("state IN ('running','finished')", name="ck_attempts_state"),
        sa.CheckConstraint("(state = 'finished') = (finished_ms IS NOT NULL)", name="ck_attempts_finished"),
        sa.CheckConstraint("reserved_micro_usd >= 0 AND spent_micro_usd >= 0", name="ck_attempts_money"),
    )
    op.create_index("ux_attempts_running", "attempts", ["ticket"], unique=True, **_where("state = 'running'"))
    op.create_index("ix_attempts_finished", "attempts", ["finished_ms"])
    op.create_index("ix_attempts_started", "attempts", ["started_ms"])


def _money_and_gates() -> None:
    op.create_table(
        "ledger",
        _id(),
        sa.Column("run_id", sa.Text(), sa.ForeignKey("attempts.run_id"), nullable=False),
        _ticket(),
        *_text("kind"),
        *_big("micro_usd"),
        *_bool("known"),
        *_big("at_ms"),
        sa.CheckConstraint("kind IN ('reserved','settled','raised')", name="ck_ledger_kind"),
        sa.CheckConstraint("micro_usd >= 0", name="ck_ledger_money"),
    )
    op.create_index("ux_ledger_once", "ledger", ["run_id", "kind"], unique=True, **_where("kind <> 'raised'"))
    op.create_index("ix_ledger_at", "ledger", ["at_ms"])
    op.create_table(
        "gates",
        _id(),
        _ticket(),
        *_text("run_id", "head"),
        sa.Column("record", sa.JSON(), nullable=False),
    )
    op.create_index("ix_gates_ticket", "gates", ["ticket"])


def _publications() -> None:
    op.create_table(
        "publications",
        sa.Column("id", sa.Text(), primary_key=True),
        _ticket(),
        *_text("run_id", "state", "repo", "base", "base_sha", "branch", "head"),
        sa.Column("idempotency_key", sa.Text(), nullable=False, unique=True),
        *_text("expected_remote_head", null=True),
        *_int("tries"),
        *_int("losses", default="0"),
        *_big("pid", "pid_started_ms", null=True),
        *_text("pushed", "outcome", null=True),
        *_text("code", "message", default=""),
        *_text("pr_url", null=True),
        *_int("pr_number", null=True),
        *_text("pr_state", null=True),
        *_big("created_ms", "started_ms"),
        *_big("finished_ms", null=True),
        sa.UniqueConstraint("ticket", "head", name="ux_publications_head"),
        sa.CheckConstraint("state IN ('running','deferred','done','refused')", name="ck_publications_state"),
    )
    op.create_index(
        "ux_publications_running", "publications", ["ticket"], unique=True, **_where("state = 'running'")
    )
    op.create_index("ix_publications_open", "publications", ["repo"], **_where("pr_state = 'open'"))
    op.create_index("ix_publications_finished", "publications", ["finished_ms"])


def _brakes() -> None:
    op.create_table(
        "breakers",
        sa.Column("scope", sa.Text(), primary_key=True),
        *_text("state"),
        *_int("failures"),
        *_text("failure_class", null=True),
        *_big("opened_ms", "cooldown_until_ms", null=True),
        *_big("cooldown_ms"),
        *_text("probe_run_id", null=True),
        sa.CheckConstraint("state IN ('closed','open','half-open')", name="ck_breakers_state"),
        sa.CheckConstraint("(state = 'half-open') = (probe_run_id IS NOT NULL)", name="ck_breakers_probe"),
    )
    op.create_table(
        "agent_windows",
        sa.Column("agent", sa.Text(), primary_key=True),
        *_big("since_ms", "resets_ms"),
        *_text("reason"),
        *_text("probe_run_id", null=True),
    )


def _host() -> None:
    op.create_table(
        "switch",
        sa.Column("id", sa.Integer(), primary_key=True),
        *_bool("is_on", "ignore_window"),
        *_big("until_ms", null=True),
        *_text("off_mode"),
        *_big("drain_until_ms", null=True),
        *_big("changed_ms"),
        *_text("by"),
        sa.CheckConstraint("id = 1", name="ck_switch_single"),
        sa.CheckConstraint("off_mode IN ('finish','drain','now')", name="ck_switch_mode"),
    )
    op.create_table(
        "holds",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("scope", sa.Text(), primary_key=True),
        *_text("cause"),
        *_big("since_ms"),
        *_text("cure"),
        *_big("clears_ms", null=True),
    )
    op.create_table(
        "firings",
        sa.Column("schedule", sa.Text(), primary_key=True),
        sa.Column("nominal_ms", sa.BigInteger(), primary_key=True),
        *_big("fired_ms"),
    )
    op.execute(
        'INSERT INTO switch (id, is_on, ignore_window, off_mode, changed_ms, "by")'
        " VALUES (1, false, false, 'finish', 0, 'install')"
    )
