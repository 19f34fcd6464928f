"""Ten thousand queued tickets: what is looked at all the time reads no more of them than of a hundred.

Measured in steps of SQLite's own machine, which depend on nothing but the statement and the rows it touches.
Source: https://www.sqlite.org/c3ref/progress_handler.html
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from sqlalchemy import Engine, event, text

from autopilot.daemon import desk as verbs
from autopilot.daemon import view
from autopilot.daemon.loop import Loop
from autopilot.daemon.store import writes
from tests.support import queue
from tests.support.shop import Stage

FEW, MANY = 100, 10_000
EVERY = 10
"""Steps between two counts."""
DEEPER = 2.0
"""A tree of 10,000 is a level or two deeper than one of 100."""
PASSES_OVER = {"tick": 8, "status": 10}
"""Steps for each ticket where all are counted, or passed over because their one repository is busy."""
Act = Callable[[Stage], object]


class Steps:
    """How many steps SQLite has made on every connection opened meanwhile."""

    def __init__(self) -> None:
        self.count = 0
        self._open: list[sqlite3.Connection] = []

    def more(self) -> int:
        self.count += EVERY
        return 0

    def listen(self, raw: sqlite3.Connection, _record: object) -> None:
        self._open.append(raw)
        raw.set_progress_handler(self.more, EVERY)

    def begin(self) -> int:
        """Listen anew, for the check at the start takes the place, and say where the count stands."""
        for raw in self._open:
            with suppress(sqlite3.ProgrammingError):  # it has been closed
                raw.set_progress_handler(self.more, EVERY)
        return self.count


@contextmanager
def counted() -> Iterator[Steps]:
    steps = Steps()
    event.listen(Engine, "connect", steps.listen)
    try:
        yield steps
    finally:
        event.remove(Engine, "connect", steps.listen)


def fill(stage: Stage, count: int) -> None:
    """Make copies of one real ticket and its history."""
    queue.add(stage.store, "Ticket", body="x" * 200)
    with stage.store.write() as conn:
        for table, key in (("tickets", "short_id"), ("history", "id")):
            names = [row[1] for row in conn.execute(text(f"PRAGMA table_info({table})"))]
            own = {key: "n", "ticket": "n", "branch": "branch || n", "source_key": "NULL"}
            values = ", ".join(own.get(name, name) for name in names)
            # Names of our own tables and columns, and a number.
            numbers = f"numbers(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})"  # noqa: S608
            copies = f"INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM {table}, numbers"  # noqa: S608
            conn.execute(text(f"WITH RECURSIVE {numbers} {copies}"))


def measured(folder: Path, count: int, act: Act) -> int:
    """Give the steps of the act among so many tickets, once everything that is kept is warm."""
    with counted() as steps:
        stage = Stage(folder)
        with closing(stage.store):
            fill(stage, count)
            writes.turn_on(stage.store, by="test", ignore_window=True)
            act(stage)
            before = steps.begin()
            act(stage)
            return steps.count - before


def tick(stage: Stage) -> None:
    Loop(stage.shop).tick()


def held_tick(stage: Stage) -> None:
    writes.turn_off(stage.store, by="test")
    Loop(stage.shop).tick()


ACTS: dict[str, Act] = {
    "tick": tick,
    "held tick": held_tick,
    "status": lambda stage: view.status(stage.desk()),
    "list": lambda stage: verbs.tickets(stage.desk(), limit=20),
    "why": lambda stage: view.why(stage.desk(), "T-77"),
    "show": lambda stage: verbs.show(stage.desk(), "T-77"),
    "add": lambda stage: queue.add(stage.store, "One more"),
}


@pytest.mark.parametrize("name", ACTS)
def test_what_is_done_all_the_time_costs_no_more_among_ten_thousand(tmp_path: Path, name: str) -> None:
    few = measured(tmp_path / "few", FEW, ACTS[name])
    many = measured(tmp_path / "many", MANY, ACTS[name])
    assert few > 0
    most = DEEPER * few + 500 + PASSES_OVER.get(name, 0) * MANY
    assert many <= most, f"{name}: {few} steps among {FEW}, {many} among {MANY}"
