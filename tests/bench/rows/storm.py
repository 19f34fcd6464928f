"""Many processes that take work and are killed at any moment: what is lost, done twice, or overspent.

All queues play the same: a worker notes what it took and what it ended in a file of its own. After the storm
one honest worker does the rest. Lost is what is neither done nor obtainable any more; twice is what a queue
accepted two ends of.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import pickle
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from huey.storage import SqliteStorage
from persistqueue import Empty, SQLiteAckQueue

from autopilot.config.clock import SystemClock
from autopilot.daemon import transitions
from autopilot.daemon.rules import Rules
from autopilot.daemon.store import queries_host, queries_runs, queries_tickets
from autopilot.daemon.store.engine import Store, open_store
from autopilot.daemon.store.rows import Claim
from autopilot.schemas.errors import StaleTransitionError
from autopilot.schemas.machine import State, Trigger
from tests.bench.house import complete, folder, store_of
from tests.bench.measure import Bench, Finding, Row, Scale
from tests.support import in_order, queue

_ROW = "storm"
_SEED = 20
_LONGEST_LIFE_S = 0.06
_ITEMS_PER_KILL = 5
_KEPT = frozenset({State.QUEUED, State.COMMITTED, State.PARKED})
_FORK = multiprocessing.get_context("fork")  # cheap, and nothing of a queue is open yet


class Toll(NamedTuple):
    """What a storm cost."""

    lost: int
    twice: int
    overspent_micro_usd: int = 0


class Game(NamedTuple):
    """One kind of queue: filled, worked on until it is empty, then counted."""

    fill: Callable[[Path, int], None]
    work: Callable[[Path, Path], None]
    reckon: Callable[[Path, int], Toll]


def _measure(scale: Scale) -> Iterator[Finding]:
    each = scale._replace(kills=max(1, scale.kills // scale.few))
    for name, game in _GAMES.items():
        kills, tolls = 0, []
        for round_ in range(scale.few):
            with folder() as place:
                kills += _storm(game, place, each, random.Random(_SEED + round_))  # noqa: S311 - no secret
                tolls.append(game.reckon(place, each.kills * _ITEMS_PER_KILL))
        notes = {
            "lost": sum(toll.lost for toll in tolls),
            "twice": sum(toll.twice for toll in tolls),
            "overspent_micro_usd": sum(toll.overspent_micro_usd for toll in tolls),
        }
        yield Finding(name, tuple(map(_weight, tolls)), {"kills": kills, **notes})


def _weight(toll: Toll) -> float:
    return float(toll.lost + toll.twice + (toll.overspent_micro_usd > 0))


def _storm(game: Game, place: Path, scale: Scale, chance: random.Random) -> int:
    """Let all work, killing one after the other and putting a new one in its place; say how many fell."""
    game.fill(place, scale.kills * _ITEMS_PER_KILL)
    killed = 0
    crew = [_worker(game, place, number) for number in range(scale.processes)]
    while killed < scale.kills and crew:
        multiprocessing.connection.wait([one.sentinel for one in crew], chance.uniform(0, _LONGEST_LIFE_S))
        victim = crew.pop(chance.randrange(len(crew)))
        has_ended = not victim.is_alive()
        victim.kill()
        victim.join()
        if not has_ended:
            killed += 1
            crew.append(_worker(game, place, scale.processes + killed))
    for one in crew:
        one.kill()
        one.join()
    return killed


def _worker(game: Game, place: Path, number: int) -> multiprocessing.context.ForkProcess:
    worker = _FORK.Process(target=game.work, args=(place, place / f"notes-{number}"), daemon=True)
    worker.start()
    return worker


def _notes(place: Path) -> Counter[str]:
    """Every note of every worker; one that was cut off in the middle is none."""
    lines = (line for file in place.glob("notes-*") for line in file.read_text().splitlines(keepends=True))
    return Counter(line.strip() for line in lines if line.endswith("\n"))


class _Notes:
    """A worker's notes; each is on the way to the disk before the worker goes on."""

    def __init__(self, file: Path) -> None:
        self._handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(self, what: str) -> None:
        os.write(self._handle, f"{what}\n".encode())


def _twice(place: Path) -> int:
    return sum(count - 1 for line, count in _notes(place).items() if line.startswith("ended "))


# --- ours ---------------------------------------------------------------------------------------


def _rules(place: Path) -> Rules:
    """A ceiling that is reached half-way: every item costs a dollar."""
    ceiling = int((place / "ceiling").read_text())
    return replace(queue.ROOMY, cost_ceiling_micro_usd=ceiling, stop_launching_percent=100)


def _fill_ours(place: Path, items: int) -> None:
    (place / "ceiling").write_text(str(items * queue.USD // 2 + 20 * queue.USD))
    store_of(place, items).close()


def _work_ours(place: Path, file: Path) -> None:
    notes, rules = _Notes(file), _rules(place)
    with closing(open_store(place / "autopilot.db", SystemClock(), role="cli")) as store:
        while (claimed := _claimed(store, rules)) is not None:
            notes.note(f"took {claimed.ticket.id} {claimed.attempt.fence}")
            complete(store, claimed)
            notes.note(f"ended {claimed.ticket.id}")


def _claimed(store: Store, rules: Rules) -> Claim | None:
    """Claim what is next; None when nothing is left, or no money for it."""
    while True:
        with store.read() as conn:
            found = queries_tickets.candidates(conn, store.clock.now_ms(), default_agent=queue.AGENT, limit=1)
        if not found:
            return None
        with suppress(StaleTransitionError):  # another was faster
            answer = transitions.claim(store, found[0], agent=queue.AGENT, rules=rules)
            return answer if isinstance(answer, Claim) else None


def _count_ours(place: Path, items: int) -> Toll:
    """Do as the daemon's recovery does: what was live and is not any more is a loss; then do the rest."""
    rules = _rules(place)
    with closing(open_store(place / "autopilot.db", SystemClock(), role="daemon")) as store:
        with store.read() as conn:
            live = queries_runs.running(conn)
        for run in live:
            claimed = Claim(run.ticket, run.attempt)
            queue.end(store, claimed, queue.lost(claimed), rules=rules)
        _work_ours(place, place / "notes-last")
        in_order.assert_in_order(store)
        with store.read() as conn:
            tickets = queries_tickets.tickets(conn)
            passes = Counter(
                entry.ticket_id
                for ticket in tickets
                for entry in queries_tickets.history(conn, ticket.id)
                if entry.trigger is Trigger.PASS
            )
            spent = queries_host.spending(conn, store.clock.now_ms()).committed_micro_usd
        notes = _notes(place)
        ended = {line.split()[1] for line in notes if line.startswith("ended ")}
        lost = items - sum(ticket.state in _KEPT for ticket in tickets) + len(ended - passes.keys())
        claims = sum(count - 1 for line, count in notes.items() if line.startswith("took "))
        twice = claims + sum(count - 1 for count in passes.values())
        return Toll(lost, twice, max(0, spent - rules.cost_ceiling_micro_usd))


# --- huey ---------------------------------------------------------------------------------------


def _huey(place: Path) -> SqliteStorage:
    return SqliteStorage("bench", filename=str(place / "huey.db"), fsync=True, timeout=30)


def _fill_huey(place: Path, items: int) -> None:
    storage = _huey(place)
    for number in range(items):
        storage.enqueue(pickle.dumps(number))
    storage.close()


def _work_huey(place: Path, file: Path) -> None:
    storage, notes = _huey(place), _Notes(file)
    while (data := storage.dequeue()) is not None:
        number = pickle.loads(data)  # noqa: S301 - our own bytes of a moment ago
        notes.note(f"took {number}")
        storage.put_data(str(number), b"done")
        notes.note(f"ended {number}")


def _count_huey(place: Path, items: int) -> Toll:
    _work_huey(place, place / "notes-last")
    with closing(sqlite3.connect(place / "huey.db")) as raw:
        done = {key for (key,) in raw.execute("SELECT key FROM kv")}
    return Toll(items - len(done), _twice(place))


# --- persist-queue ------------------------------------------------------------------------------


def _persist_queue(place: Path) -> SQLiteAckQueue:
    return SQLiteAckQueue(str(place / "persist"), auto_commit=True, timeout=30.0)


def _fill_persist_queue(place: Path, items: int) -> None:
    held = _persist_queue(place)
    for number in range(items):
        held.put(number)
    held.close()


def _work_persist_queue(place: Path, file: Path) -> None:
    held, notes = _persist_queue(place), _Notes(file)
    while True:
        try:
            item = held.get(block=False, raw=True)
        except Empty:
            return
        notes.note(f"took {item['data']}")
        held.ack(item)
        notes.note(f"ended {item['data']}")


def _count_persist_queue(place: Path, items: int) -> Toll:
    _work_persist_queue(place, place / "notes-last")
    held = _persist_queue(place)
    lost = items - held.acked_count()
    held.close()
    return Toll(lost, _twice(place))


_GAMES = {
    _ROW: Game(_fill_ours, _work_ours, _count_ours),
    f"{_ROW}, huey": Game(_fill_huey, _work_huey, _count_huey),
    f"{_ROW}, persist-queue": Game(_fill_persist_queue, _work_persist_queue, _count_persist_queue),
}
_WHAT = "lost + done twice + ceilings passed, 16 processes under SIGKILL"

BENCH = Bench(
    (
        Row(_ROW, _WHAT, "none", "", 0.0, "worst"),
        Row(f"{_ROW}, huey", "the same of huey's SqliteStorage", "none", "", None, "worst"),
        Row(
            f"{_ROW}, persist-queue", "the same of persist-queue's SQLiteAckQueue", "none", "", None, "worst"
        ),
    ),
    _measure,
)
