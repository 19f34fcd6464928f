"""A queue with a past, and the daily clearing of it played to its end."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from autopilot.daemon.retention import PAUSE_MS, Retention
from autopilot.daemon.store import writes
from autopilot.daemon.store.engine import Store
from tests.support.shop import Stage

DAY_S = 24 * 3600
COUNTED = ("tickets", "history", "gates", "ledger", "attempts", "publications", "dependencies", "exchanges")
CONFIG = """
[retention]
at = "08:30"
history_days = 30
ledger_days = 60
logs_days = 10
files_days = 20
tickets_days = {tickets_days}
"""


def staged(folder: Path, *, tickets_days: int = 0) -> Stage:
    """A shop that clears; what was before its first day is none of its business."""
    stage = Stage(folder, config="")
    text = stage.paths.config_file.read_text(encoding="utf-8")
    stage.paths.config_file.write_text(text + CONFIG.format(tickets_days=tickets_days), encoding="utf-8")
    stage.current.refresh()
    writes.turn_on(stage.store, by="test", ignore_window=True)
    Retention()(stage.shop)
    return stage


def counts(store: Store) -> dict[str, int]:
    """Rows of each table."""
    with closing(sqlite3.connect(store.database)) as raw:
        return {table: raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in COUNTED}  # noqa: S608


def clear(stage: Stage) -> int:
    """Let the chore run to its end; gives how many ticks it took."""
    retained, ticks = Retention(), 0
    while True:
        ticks += 1
        due_ms = retained(stage.shop)
        assert due_ms is not None
        if due_ms > stage.clock.now_ms() + PAUSE_MS:
            return ticks


def seed(store: Store, tickets: int, moves: int) -> None:
    """Many ended tickets, each with many moves, as years of work leave them."""
    with closing(sqlite3.connect(store.database)) as raw:
        raw.execute("PRAGMA synchronous=OFF")
        raw.execute(
            "WITH RECURSIVE many(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM many LIMIT ?)"
            " INSERT INTO tickets (short_id, state, title, body, acceptance, repo, priority, branch,"
            " created_ms, updated_ms)"
            " SELECT 1000 + n, 'failed', 'old', 'x', '[]', 'shop', 2, 'b', n, n FROM many",
            (tickets,),
        )
        raw.execute(
            "WITH RECURSIVE many(n) AS (VALUES(0) UNION ALL SELECT n + 1 FROM many LIMIT ?)"
            " INSERT INTO history (ticket, trigger, from_state, to_state, at_ms, by, reason)"
            " SELECT short_id, 'retry', 'running', 'queued', short_id, 'x', hex(randomblob(100))"
            " FROM tickets, many WHERE short_id > 1000",
            (moves,),
        )
        raw.execute(
            "INSERT INTO attempts (run_id, ticket, no, session, agent, repo, fence, claim_token, state,"
            " started_ms, finished_ms, reserved_micro_usd, is_probe) SELECT 'T-' || short_id || '-a1-0',"
            " short_id, 1, 1, 'scripted', 'shop', 1, 'x', 'finished', short_id, short_id, 1, 0 FROM tickets"
            " WHERE short_id > 1000"
        )
        raw.execute(
            "INSERT INTO past_holds (name, scope, cause, cure, since_ms, until_ms, held_ms, times)"
            " SELECT 'dependency', 'ticket:T-' || short_id, 'x', 'x', short_id, short_id, 0, 1 FROM tickets"
            " WHERE short_id > 1000"
        )
        raw.execute(
            "INSERT INTO ledger (run_id, ticket, kind, micro_usd, known, at_ms) SELECT run_id, ticket,"
            " 'settled', 0, 1, finished_ms FROM attempts WHERE ticket > 1000"
        )
        raw.commit()
