"""Claim and completion: ours, against the bare statements, and against other queues on SQLite."""

from __future__ import annotations

import pickle
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from huey.storage import SqliteStorage
from persistqueue import SQLiteAckQueue

from autopilot.daemon.store.engine import Store
from tests.bench.house import claim_next, complete, folder, store_of
from tests.bench.measure import Bench, Finding, Row, Scale, interleaved, ratio
from tests.support import wire
from tests.support.wire import Sent

_SAME = "claim and end"
_OTHERS = ("raw queue", "huey", "persist-queue")
_FULL = ("journal_mode=WAL", "synchronous=FULL")


def _measure(scale: Scale) -> Iterator[Finding]:
    items = scale.work * (scale.rounds + 1)
    with folder() as place, closing(store_of(place / "ours", items)) as store:
        shutil.copytree(place / "ours", place / "raw")
        shutil.copytree(place / "ours", place / "recorded")
        script = _recorded(place / "recorded", items)
        actions: dict[str, Callable[[], object]] = {
            "ours": partial(_ours, store, scale.work),
            "raw": _replayed(place / "raw" / "autopilot.db", script, scale.work),
            "raw queue": _raw_queue(place / "minimal.db", items, scale.work),
            "huey": _huey(place / "huey.db", items, scale.work),
            "persist-queue": _persist_queue(place / "persist", items, scale.work),
        }
        spent = interleaved(actions, scale.rounds)
    yield ratio(_SAME, spent["ours"], spent["raw"])
    for name in _OTHERS:
        yield ratio(f"{_SAME}, {name}", spent["ours"], spent[name])


def _ours(store: Store, work: int) -> None:
    for _ in range(work):
        complete(store, claim_next(store))


def _recorded(place: Path, items: int) -> list[list[Sent]]:
    """What the driver was given for each ticket's claim and end, the words of transactions too."""
    script: list[list[Sent]] = []
    sent: list[Sent] = []
    with wire.played(sent), closing(store_of(place)) as store:
        for _ in range(items):
            sent.clear()
            complete(store, claim_next(store))
            script.append(sent.copy())
    return script


def _replayed(database: Path, script: list[list[Sent]], work: int) -> Callable[[], object]:
    """The same statements with the same values on the same database, by the driver alone."""
    raw, left = _opened(database), iter(script)
    raw.execute("PRAGMA foreign_keys=1")

    def act() -> None:
        for _ in range(work):
            for text, values, many in next(left):
                cursor = raw.cursor()
                (cursor.executemany if many else cursor.execute)(text, values)
                if cursor.description:
                    cursor.fetchall()

    return act


def _raw_queue(database: Path, items: int, work: int) -> Callable[[], object]:
    """The least that can be called a queue: one table, no money, no history, no fence."""
    raw = _opened(database)
    raw.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, state TEXT NOT NULL)")
    raw.execute("CREATE INDEX ready ON item (id) WHERE state = 'ready'")
    raw.executemany("INSERT INTO item (state) VALUES (?)", [("ready",)] * items)
    take = """UPDATE item SET state = 'taken' WHERE id =
        (SELECT id FROM item WHERE state = 'ready' ORDER BY id LIMIT 1) RETURNING id"""

    def act() -> None:
        for _ in range(work):
            (number,) = raw.execute(take).fetchone()
            raw.execute("UPDATE item SET state = 'done' WHERE id = ?", (number,))

    return act


def _huey(database: Path, items: int, work: int) -> Callable[[], object]:
    """Its claim deletes the item; there is no completion to compare with, so it writes a result."""
    storage = SqliteStorage("bench", filename=str(database), fsync=True)
    for number in range(items):
        storage.enqueue(pickle.dumps(number))

    def act() -> None:
        for _ in range(work):
            storage.put_data(storage.dequeue(), b"done")

    return act


def _persist_queue(place: Path, items: int, work: int) -> Callable[[], object]:
    """Its connection stands at SQLite's own default, which is FULL."""
    held: SQLiteAckQueue = SQLiteAckQueue(str(place), auto_commit=True)
    for number in range(items):
        held.put(number)

    def act() -> None:
        for _ in range(work):
            held.ack(held.get(block=False))

    return act


def _opened(database: Path) -> sqlite3.Connection:
    raw = sqlite3.connect(database, isolation_level=None)
    for setting in _FULL:
        raw.execute(f"PRAGMA {setting}")
    return raw


def _other(name: str, yardstick: str) -> Row:
    return Row(f"{_SAME}, {name}", "the same", yardstick, "x", None)


BENCH = Bench(
    (
        Row(
            _SAME,
            "head of the queue, claim, end: reservation, ledger, history, gates",
            "raw sqlite3 doing the same statements at FULL",
            "x",
            2.0,
        ),
        _other("raw queue", "raw sqlite3, one table and two updates at FULL"),
        _other("huey", "huey's SqliteStorage: dequeue and a result, fsync on"),
        _other("persist-queue", "persist-queue's SQLiteAckQueue: get and ack"),
    ),
    _measure,
)
