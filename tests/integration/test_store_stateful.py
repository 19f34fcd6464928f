"""Several actors, each with what it saw of a ticket long ago, try every move in any order.

A move succeeds only for who saw the ticket as it is; nothing happens twice under one fence; what is refused
leaves no trace; and after every step history replays, money sums up, and no ticket has two live attempts.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from autopilot.daemon.store import leases, queries_runs, queries_tickets, writes
from autopilot.daemon.store.engine import Store, open_store
from autopilot.schemas.errors import InvariantError, StaleTransitionError
from autopilot.schemas.machine import State
from autopilot.schemas.ticket import Ticket
from tests.support import queue
from tests.support.clock import FakeClock
from tests.support.in_order import assert_in_order
from tests.support.stale_actors import ENDS_PUBLICATION, ENDS_RUN, MOVES, PLAUSIBLE, STARTS, Seen

MOST_TICKETS = 2
"""Few, so that many actors know the same one."""


def key(ticket: Ticket) -> tuple[object, ...]:
    """What a move is guarded by."""
    return ticket.state, ticket.claim_token, ticket.fence, ticket.cancel_requested


class Actors(RuleBasedStateMachine):
    """The store, and what a model knows of it."""

    memories = Bundle("memories")

    def __init__(self, template: Path, folder: Path) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        with closing(sqlite3.connect(template)) as source, closing(sqlite3.connect(self.file)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode=WAL")
        self.clock = FakeClock()
        self.store: Store = open_store(self.file, self.clock, role="daemon")
        self.number = 1
        self.begun: dict[str, set[int]] = {}
        self.ended: set[tuple[str, int]] = set()

    @property
    def file(self) -> Path:
        return self.folder / "autopilot.db"

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)

    def everything(self) -> list[str]:
        with closing(sqlite3.connect(self.file)) as raw:
            return list(raw.iterdump())

    def look(self, name: str) -> Seen:
        with self.store.read() as conn:
            ticket = queries_tickets.ticket(conn, name)
            attempts = queries_runs.attempts_of(conn, name)
            publications = queries_runs.publications_of(conn, name)
        assert ticket is not None
        return Seen(ticket, attempts[-1] if attempts else None, publications[-1] if publications else None)

    @initialize(target=memories)
    def first(self) -> Seen:
        return self.look(queue.add(self.store).id)

    @precondition(lambda self: self.number < MOST_TICKETS)
    @rule(target=memories)
    def add(self) -> Seen:
        self.number += 1
        return self.look(queue.add(self.store).id)

    @rule(target=memories, number=st.integers(1, MOST_TICKETS))
    def look_again(self, number: int) -> Seen:
        return self.look(f"T-{min(number, self.number)}")

    @rule(target=memories, memory=memories, name=st.sampled_from(sorted(MOVES)))
    def move(self, memory: Seen, name: str) -> Seen | MultipleResults[Seen]:
        """Try any move."""
        return self.move_by(memory, name)

    def move_by(self, memory: Seen, name: str) -> Seen | MultipleResults[Seen]:
        """Try a move; what it led to is one more thing to remember, the old is not forgotten."""
        before, dump = self.look(memory.ticket.id), self.everything()
        if not self._is_done(name, memory):
            assert self.everything() == dump, f"{name} was refused and left a trace"
            return multiple()
        after = self.look(memory.ticket.id)
        assert key(before.ticket) == key(memory.ticket), f"{name} by who saw {key(memory.ticket)}"
        self._account(name, memory, after.ticket)
        return after

    @rule(target=memories, memory=memories, number=st.integers(0, 20))
    def move_as_the_state_allows(self, memory: Seen, number: int) -> Seen | MultipleResults[Seen]:
        """Most moves do not exist in most states; these do, in the state that was seen."""
        names = PLAUSIBLE[memory.ticket.state]
        return self.move_by(memory, names[number % len(names)]) if names else multiple()

    def _is_done(self, name: str, memory: Seen) -> bool:
        try:
            MOVES[name](self.store, memory)
        except (StaleTransitionError, InvariantError):
            return False
        return True

    def _account(self, name: str, memory: Seen, now: Ticket) -> None:
        mine = self.begun.setdefault(now.id, set())
        if name in STARTS:
            assert now.fence > max(mine, default=0), f"{name} under the fence {now.fence}, not a new one"
            mine.add(now.fence)
        if name in ENDS_RUN | ENDS_PUBLICATION:
            once = (now.id, memory.ticket.fence)
            assert once not in self.ended, f"{name}: {once} has ended before"
            self.ended.add(once)

    @rule(memory=memories, usd=st.integers(0, 7), fence=st.integers(0, 6))
    def spend(self, memory: Seen, usd: int, fence: int) -> None:
        """Spending counts under the run's own fence only, also when it is told late."""
        if memory.attempt is None:
            return
        mine = memory.attempt
        before = self.look(mine.ticket_id).ticket.spent_micro_usd
        try:
            writes.record_spend(self.store, mine.run_id, usd * queue.USD, fence=fence)
        except StaleTransitionError:
            assert fence != mine.fence
        else:
            assert fence == mine.fence
        assert self.look(mine.ticket_id).ticket.spent_micro_usd >= before

    @rule(memory=memories)
    def renew(self, memory: Seen) -> None:
        if memory.attempt is None:
            return
        mine = memory.attempt
        now = self.look(mine.ticket_id)
        is_live = now.ticket.state is State.RUNNING and now.ticket.fence == mine.fence
        told = leases.renew(self.store, {mine.run_id: mine.fence}, lease_ms=60_000)
        assert told == ({mine.run_id} if is_live else frozenset())

    @rule(memory=memories)
    def ask_to_cancel(self, memory: Seen) -> None:
        now = self.look(memory.ticket.id).ticket
        try:
            writes.request_cancel(self.store, memory.ticket, by="me")
        except StaleTransitionError:
            return
        assert now.claim_token is not None
        assert (now.claim_token, now.fence) == (memory.ticket.claim_token, memory.ticket.fence)

    @rule(memory=memories)
    def note_process(self, memory: Seen) -> None:
        if memory.attempt is None:
            return
        now = self.look(memory.ticket.id)
        try:
            writes.record_process(
                self.store, memory.attempt.run_id, fence=memory.attempt.fence, pid=1, pid_started_ms=1
            )
        except StaleTransitionError:
            return
        assert (now.ticket.state, now.ticket.fence) == (State.RUNNING, memory.attempt.fence)

    @rule(seconds=st.sampled_from([0, 1, 3600]), back=st.booleans())
    def pass_time(self, seconds: int, *, back: bool) -> None:
        """Also backwards: no guard may lean on a clock."""
        self.clock.jump_wall(-seconds if back else seconds)

    @invariant()
    def is_in_order(self) -> None:
        assert_in_order(self.store)
        with self.store.read() as conn:
            live = [run.ticket.id for run in queries_runs.running(conn)]
            live += [each.ticket.id for each in queries_runs.publishing(conn)]
        assert len(live) == len(set(live)), f"more than one live claim of one ticket: {live}"


@pytest.mark.slow
def test_stale_actors_in_any_order_do_nothing_twice_and_break_nothing(tmp_path: Path) -> None:
    template = queue.new_store(tmp_path)
    template.close()
    run_state_machine_as_test(
        cast("type[RuleBasedStateMachine]", partial(Actors, template.database, tmp_path)),
        settings=settings(
            max_examples=30,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
