"""Keeps breakers and usage windows, and judges them when a run ends. No rule of its own: see `breaker.py`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, insert, update

from autopilot.daemon import breaker
from autopilot.daemon.store import queries_host
from autopilot.daemon.store.prepared import Prepared
from autopilot.daemon.store.rows import Breaker
from autopilot.daemon.store.tables_host import AGENT_WINDOWS, BREAKERS
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from autopilot.daemon.breaker import Production
    from autopilot.daemon.rules import Rules
    from autopilot.daemon.store.rows import AgentWindow, Attempt
    from autopilot.daemon.store.unit import Unit

_BREAKER = Prepared(lambda: update(BREAKERS).where(BREAKERS.c.scope == bindparam("seen_scope")))
_NEW_BREAKER = Prepared(lambda: insert(BREAKERS))
_WINDOW = Prepared(lambda: update(AGENT_WINDOWS).where(AGENT_WINDOWS.c.agent == bindparam("seen_agent")))
_NEW_WINDOW = Prepared(lambda: insert(AGENT_WINDOWS))
_NO_WINDOW = Prepared(lambda: delete(AGENT_WINDOWS).where(AGENT_WINDOWS.c.agent == bindparam("seen_agent")))


def keep_breaker(conn: Connection, row: Breaker) -> None:
    """Write one breaker's row."""
    values = asdict(row)
    if not _BREAKER.run(conn, {**values, "seen_scope": row.scope}):
        _NEW_BREAKER.run(conn, values)


def keep_window(conn: Connection, row: AgentWindow, *, probe_run_id: str | None) -> None:
    """Write one usage window's row, with or without a probe under way."""
    values = asdict(row) | {"probe_run_id": probe_run_id}
    if not _WINDOW.run(conn, {**values, "seen_agent": row.agent}):
        _NEW_WINDOW.run(conn, values)


def drop_window(conn: Connection, agent: str) -> None:
    """Forget one usage window: the agent may run."""
    _NO_WINDOW.run(conn, {"seen_agent": agent})


def judge_breakers(unit: Unit, attempt: Attempt, production: Production, rules: Rules) -> None:
    """Tell the three breakers of a run how it ended, and those of its account that it was the probe of."""
    scopes = breaker.scope_names(agent=attempt.agent, repo=attempt.repo)
    known = {row.scope: row for row in queries_host.breakers(unit.conn)}
    own = [known.get(scope, Breaker(scope=scope)) for scope in scopes]
    probed = [row for row in known.values() if row.probe_run_id == attempt.run_id]
    for before in (*own, *(row for row in probed if row.scope not in scopes)):
        told = production if before.scope in scopes else breaker.of_its_account(production)
        after = breaker.after_attempt(before, attempt.run_id, told, now_ms=unit.now_ms, rules=rules)
        if after == before:
            continue
        keep_breaker(unit.conn, after)
        if after.state == "open":
            unit.note(
                Event.BREAKER_OPENED,
                level="error",
                scope=after.scope,
                failures=after.failures,
                failure_class=after.failure_class,
                cooldown_until_ms=after.cooldown_until_ms,
            )
        elif before.state != "closed":
            unit.note(Event.BREAKER_CLOSED, scope=after.scope, run=attempt.run_id)


def judge_window(unit: Unit, attempt: Attempt, *, limited: AgentWindow | None, says_nothing: bool) -> None:
    """Tell the agent's usage window how a run ended.

    Args:
        unit: the transaction.
        attempt: the run.
        limited: the window to keep, when the run met the limit.
        says_nothing: the run was stopped or lost, so that its probe must be made again.
    """
    if limited is not None:
        keep_window(unit.conn, limited, probe_run_id=None)
        unit.note(Event.AGENT_LIMITED, level="warning", agent=limited.agent, resets_ms=limited.resets_ms)
        return
    rows = queries_host.agent_windows(unit.conn)
    mine = next((row for row in rows if row.probe_run_id == attempt.run_id), None)
    if mine is None:
        return
    if says_nothing:
        keep_window(unit.conn, mine, probe_run_id=None)
    else:
        drop_window(unit.conn, mine.agent)
