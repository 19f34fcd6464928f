"""What a claim, its end and an idle tick cost, in statements: counted, never timed (`script/bench` times)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine, event

from autopilot.daemon import transitions
from autopilot.daemon.loop import Loop
from autopilot.daemon.store import queries_tickets, writes
from autopilot.daemon.store.engine import Store
from autopilot.schemas.decision import Pass
from tests.support import queue, wire
from tests.support.shop import Stage

# Raise a number here only with a reason: each statement is a round trip that every ticket pays for.
HEAD_OF_QUEUE = 2  # the head of every priority in one, then what the ticket waits for
CLAIM = 8  # the clock, switch, breakers, window; ticket, history, attempt, ledger
END = 8  # attempt; attempt, ledger, breakers, window, gates, ticket, history
IDLE_TICK = 15


def steps(store: Store) -> tuple[list[str], list[str], list[str]]:
    """What a ticket's way takes: the look at the head of the queue, the claim, the end."""
    with wire.traced() as head, store.read() as conn:
        (ticket,) = queries_tickets.candidates(conn, store.clock.now_ms(), default_agent=queue.AGENT, limit=1)
    with wire.traced() as claim:
        claimed = queue.claim(store, ticket)
    seen = queue.look(store, ticket.id)
    with wire.traced() as end:
        report = queue.result(claimed, head=queue.HEAD, gates=queue.gates(queue.HEAD))
        transitions.pass_(store, seen, report, Pass(queue.HEAD, queue.BASE), rules=queue.ROOMY)
    return head, claim, end


def number_of(texts: list[str]) -> int:
    """Count the statements; the rows of one INSERT are one."""
    return len(list(itertools.groupby(texts, lambda text: text.partition("VALUES")[0])))


def test_a_ticket_costs_no_more_statements_than_it_needs(store: Store) -> None:
    queue.add(store)
    assert tuple(map(number_of, steps(store))) == (HEAD_OF_QUEUE, CLAIM, END)


@contextmanager
def carried() -> Iterator[list[object]]:
    """What SQLAlchemy itself carries to any database meanwhile: the statement objects, in their order."""
    seen: list[object] = []

    def note(conn: object, statement: object, *rest: object) -> None:
        seen.append(statement)

    event.listen(Engine, "before_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_execute", note)


def test_a_tickets_path_goes_to_the_driver_as_it_was_compiled_once(store: Store) -> None:
    queue.add(store)
    with carried() as statements:
        steps(store)
    assert list(map(str, statements)) == []


def test_an_idle_tick_reads_little_and_builds_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    writes.turn_on(stage.store, by="test")
    loop = Loop(stage.shop)
    loop.tick()
    with carried() as statements, wire.traced() as texts:
        loop.tick()
    stage.store.close()
    assert 0 < number_of(texts) <= IDLE_TICK
    assert list(map(str, statements)) == []
