"""Whether a claim costs the same however much waits, and however much is done."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

from autopilot.daemon.store.engine import Store
from tests.bench.house import claim_next, complete, folder, store_of
from tests.bench.measure import Bench, Finding, Row, Scale, Spent, ratio, spent_on, turn

FEW = 1000
_DAY_MS = 24 * 3_600_000
_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
# A ready ticket is like the first one; a done one has its run, and a history. All of it is long ago.
_READY = """INSERT INTO tickets
        (state, title, body, acceptance, repo, priority, branch, created_ms, updated_ms)
    SELECT 'queued', title, body, acceptance, repo, priority, branch, created_ms, updated_ms
    FROM n, (SELECT * FROM tickets WHERE short_id = 1)"""
_DONE = (
    """INSERT INTO tickets (state, title, body, acceptance, repo, priority, branch, created_ms, updated_ms)
    SELECT 'published', title, body, acceptance, repo, priority, branch, created_ms, updated_ms
    FROM n, (SELECT * FROM tickets WHERE short_id = 1)""",
    """INSERT INTO attempts (run_id, ticket, no, session, agent, repo, fence, claim_token, state, started_ms,
        finished_ms, reserved_micro_usd, spent_micro_usd, is_probe)
    SELECT 'old-' || short_id, short_id, 1, 1, 'a', repo, 1, 'x', 'finished', created_ms - {day},
        created_ms - {day}, 5000000, 1000000, 0 FROM tickets WHERE state = 'published'""",
    """INSERT INTO history (ticket, "trigger", to_state, at_ms, "by", reason)
    SELECT short_id, 'publish_done', 'published', created_ms - {day}, 'daemon', ''
    FROM tickets WHERE state = 'published'""",
)


def _measure(scale: Scale) -> Iterator[Finding]:
    few, claims = min(FEW, scale.many), scale.work * scale.rounds
    with folder() as place, ExitStack() as opened:
        stores = {
            name: opened.enter_context(closing(_filled(place / name, name, few, scale.many)))
            for name in ("few", "ready", "done")
        }
        spent: dict[str, list[Spent]] = {name: [] for name in stores}
        for round_ in range(-3, claims):
            for name in turn(list(stores), round_):
                took = _claim(stores[name])
                if round_ >= 0:
                    spent[name].append(took)
    yield ratio("claim, many ready", spent["ready"], spent["few"])
    yield ratio("claim, many done", spent["done"], spent["few"])


def _claim(store: Store) -> Spent:
    claims = []
    took = spent_on(lambda: claims.append(claim_next(store)))
    complete(store, claims[0])
    return took


def _filled(place: Path, kind: str, few: int, many: int) -> Store:
    """A store with its few tickets ready, and many more of a kind behind them."""
    store = store_of(place, 1)
    with closing(sqlite3.connect(place / "autopilot.db", isolation_level=None)) as raw:
        raw.execute("PRAGMA synchronous=OFF")
        raw.execute("BEGIN IMMEDIATE")
        counted = _NUMBERS.format(count=few - 1)
        raw.execute(f"{counted} {_READY}")
        if kind == "ready":
            raw.execute(f"{_NUMBERS.format(count=many)} {_READY}")
        elif kind == "done":
            first, *rest = _DONE
            raw.execute(f"{_NUMBERS.format(count=many)} {first}")
            for statement in rest:
                raw.execute(statement.format(day=2 * _DAY_MS))
        raw.execute("COMMIT")
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return store


BENCH = Bench(
    (
        Row("claim, many ready", "look and claim, 1 M ready", "the same, 1 k ready", "x", 1.3),
        Row("claim, many done", "look and claim, 1 M done beside 1 k ready", "the same, 1 k ready", "x", 1.3),
    ),
    _measure,
)
