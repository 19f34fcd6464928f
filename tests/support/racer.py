"""Claimers in processes of their own, started at one moment. Each opens the store for itself."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple, TextIO

from autopilot.config.clock import SystemClock
from autopilot.daemon import transitions
from autopilot.daemon.rules import Rules
from autopilot.daemon.store import queries_tickets, writes
from autopilot.daemon.store.engine import Store, open_store
from autopilot.daemon.store.rows import Claim
from autopilot.schemas.errors import AutopilotError, StaleTransitionError
from autopilot.schemas.run import Outcome, Usage
from autopilot.schemas.ticket import Ticket
from tests.support import queue
from tests.support.wait import wait_until

RACERS = 8


class Lap(NamedTuple):
    """What one racer did."""

    claimed: tuple[str, ...]
    refused: tuple[str, ...]
    errors: tuple[str, ...]
    slowest_s: float


Leg = Callable[[Store, Rules], tuple[list[str], list[str]]]


def race(pool: Executor, database: Path, leg: Leg, rules: Rules = queue.ROOMY) -> list[Lap]:
    """Let eight processes run the leg at once."""
    futures = [pool.submit(_run, database, leg, rules, number) for number in range(RACERS)]
    started = database.parent
    wait_until(lambda: len(list(started.glob("ready-*"))) == RACERS, 60, "all racers are ready")
    (started / "go").touch()
    return [future.result(timeout=120) for future in futures]


def _run(database: Path, leg: Leg, rules: Rules, number: int) -> Lap:
    store = open_store(database, SystemClock(), role="daemon" if number == 0 else "cli")
    (database.parent / f"ready-{number}-{os.getpid()}").touch()
    wait_until((database.parent / "go").exists, 60, "the race begins")
    started_s = time.monotonic()
    try:
        claimed, refused = leg(store, rules)
    except AutopilotError as error:
        return Lap((), (), (str(error),), 0.0)
    finally:
        store.close()
    return Lap(tuple(claimed), tuple(refused), (), time.monotonic() - started_s)


def claim_all(store: Store, rules: Rules) -> tuple[list[str], list[str]]:
    """Claim the head of the queue until nothing is left or a limit refuses; never finish anything."""
    claimed: list[str] = []
    while (ticket := _head(store)) is not None:
        try:
            answer = transitions.claim(store, ticket, agent="scripted", rules=rules)
        except StaleTransitionError:
            continue  # another was faster
        if not isinstance(answer, Claim):
            return claimed, [answer.hold]
        claimed.append(answer.ticket.id)
    return claimed, []


def claim_and_finish(store: Store, rules: Rules) -> tuple[list[str], list[str]]:
    """Claim, spend and finish the head of the queue until nothing is left."""
    claimed: list[str] = []
    while (ticket := _head(store)) is not None:
        try:
            answer = transitions.claim(store, ticket, agent="scripted", rules=rules)
        except StaleTransitionError:
            continue
        assert isinstance(answer, Claim), answer
        for spent in (1, 2, 3):
            writes.record_spend(store, answer.attempt.run_id, spent, fence=answer.attempt.fence)
        queue.end(store, answer, queue.result(answer, Outcome.COMMITTED), rules=rules)
        claimed.append(answer.ticket.id)
    return claimed, []


def enqueue_same(store: Store, rules: Rules) -> tuple[list[str], list[str]]:
    """Enqueue twenty orders whose sources every racer names alike."""
    return [queue.add(store, source_key=f"o/r#{number}").id for number in range(20)], []


def _head(store: Store) -> Ticket | None:
    with store.read() as conn:
        found = queries_tickets.candidates(conn, store.clock.now_ms(), default_agent="scripted", limit=1)
    return found[0] if found else None


def toil(database: Path, acks: Path) -> None:
    """Claim and finish for ever, noting each step that the store has confirmed; ended by a kill."""
    store = open_store(database, SystemClock(), role="cli")
    with acks.open("a", encoding="utf-8") as file:
        while True:
            ticket = queue.add(store)
            _ack(file, ticket.id, "queued")
            try:
                answer = transitions.claim(store, ticket, agent="scripted", rules=queue.ROOMY)
            except StaleTransitionError:
                continue
            assert isinstance(answer, Claim), answer
            _ack(file, ticket.id, "running")
            queue.end(store, answer, queue.result(answer, Outcome.COMMITTED, usage=Usage(known=True)))
            _ack(file, ticket.id, "committed")


def _ack(file: TextIO, ticket_id: str, state: str) -> None:
    file.write(f"{ticket_id} {state}\n")
    file.flush()
