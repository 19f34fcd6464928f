"""What a claim, its end and an idle tick cost, in statements: counted, never timed (`script/bench` times)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine, event

from autopilot.daemon import transitions
from autopilot.daemon.loop import Loop
from autopilot.daemon.store import queries_tickets, writes
from autopilot.daemon.store.engine import Store
from autopilot.schemas.decision import Pass
from tests.support import queue
from tests.support.shop import Stage

# Raise a number here only with a reason: each statement is a round trip that every ticket pays for.
HEAD_OF_QUEUE = 2  # the head of every priority in one, then what the ticket waits for
CLAIM = 7  # switch, breakers, window; ticket, history, attempt, ledger
END = 8  # attempt; attempt, ledger, breakers, window, gates, ticket, history
IDLE_TICK = 15


@contextmanager
def sent() -> Iterator[list[object]]:
    """What was sent to any database meanwhile: the statement objects, in their order."""
    seen: list[object] = []

    def note(conn: object, statement: object, *rest: object) -> None:
        seen.append(statement)

    event.listen(Engine, "before_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_execute", note)


def steps(store: Store) -> tuple[list[object], list[object], list[object]]:
    with sent() as head, store.read() as conn:
        (ticket,) = queries_tickets.candidates(conn, store.clock.now_ms(), default_agent=queue.AGENT, limit=1)
    with sent() as claim:
        claimed = queue.claim(store, ticket)
    seen = queue.look(store, ticket.id)
    with sent() as end:
        report = queue.result(claimed, head=queue.HEAD, gates=queue.gates(queue.HEAD))
        transitions.pass_(store, seen, report, Pass(queue.HEAD, queue.BASE), rules=queue.ROOMY)
    return head, claim, end


def test_a_ticket_costs_no_more_statements_than_it_needs(store: Store) -> None:
    queue.add(store)
    head, claim, end = steps(store)
    assert (len(head), len(claim), len(end)) == (HEAD_OF_QUEUE, CLAIM, END)


def twice(act: Callable[[], object]) -> tuple[set[int], list[object]]:
    with sent() as first:
        act()
    with sent() as second:
        act()
    return {id(statement) for statement in first}, second


def test_no_statement_of_a_tickets_path_is_built_anew(store: Store) -> None:
    queue.add(store)
    queue.add(store)
    known, again = twice(lambda: steps(store))
    assert [str(statement) for statement in again if id(statement) not in known] == []


def test_an_idle_tick_reads_little_and_builds_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    writes.turn_on(stage.store, by="test")
    loop = Loop(stage.shop)
    loop.tick()
    known, again = twice(loop.tick)
    stage.store.close()
    assert len(again) <= IDLE_TICK
    assert [str(statement) for statement in again if id(statement) not in known] == []
