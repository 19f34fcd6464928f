"""A night in virtual time: the real store and the real rules, with runs that end as a test says."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from autopilot.daemon import decide, decide_publish, transitions, transitions_publish
from autopilot.daemon.rules import Rules
from autopilot.daemon.store import queries_tickets
from autopilot.daemon.store.engine import Store
from autopilot.daemon.store.rows import Claim
from autopilot.schemas.machine import State
from autopilot.schemas.publication import PublishOutcome
from autopilot.schemas.ticket import Ticket
from tests.support import queue, words
from tests.support.clock import FakeClock

Play = Callable[[Claim], decide.RunReport]


@dataclass(frozen=True)
class Night:
    """Ticks as the daemon's loop does, one run at a time; recovery is the same path with a Loss."""

    store: Store
    clock: FakeClock
    rules: Rules
    play: Play
    publishes: PublishOutcome = PublishOutcome.PR_OPENED
    run_s: float = 1.0
    dice: random.Random = random.Random(7)  # noqa: RUF009, S311 - one series for every night, on purpose

    def tick(self) -> list[Ticket]:
        """Start what may start, end it, publish what is committed; gives the tickets that ran."""
        return [*self._runs(), *self._publications()]

    def pass_hours(self, hours: int, *, tick_s: float = 3600) -> list[Ticket]:
        """Tick through so many hours; gives every ticket that ran, in order."""
        ran: list[Ticket] = []
        end_ms = self.clock.now_ms() + hours * 3_600_000
        while self.clock.now_ms() < end_ms:
            ran += self.tick()
            self.clock.advance(tick_s)
        return ran

    def _runs(self) -> list[Ticket]:
        with self.store.read() as conn:
            found = queries_tickets.candidates(conn, self.clock.now_ms(), default_agent=words.AGENT)
        ran = []
        for seen in found:
            claimed = transitions.claim(self.store, seen, agent=words.AGENT, rules=self.rules)
            if isinstance(claimed, Claim):
                self.clock.advance(self.run_s)
                ran.append(self._end(claimed))
        return ran

    def _end(self, claimed: Claim) -> Ticket:
        return queue.end(self.store, claimed, self.play(claimed), rules=self.rules, jitter=self.dice.random())

    def _publications(self) -> list[Ticket]:
        with self.store.read() as conn:
            found = queries_tickets.ready_to_publish(conn, self.clock.now_ms())
        for seen in found:
            live = transitions_publish.begin_publish(self.store, seen, base="main", base_sha=words.BASE)
            told = queue.verdict(live, self.publishes)
            decision = decide_publish.after_publish(
                told,
                tries=live.publication.tries,
                losses=live.publication.losses,
                before=queue.deferred(self.store, live),
                rules=self.rules,
                now_ms=self.clock.now_ms(),
                jitter=self.dice.random(),
            )
            transitions_publish.apply_publish(self.store, live.ticket, told, decision)
        return []


def is_at_rest(ticket: Ticket) -> bool:
    """Whether nothing but a person moves it on."""
    return ticket.state in {State.PUBLISHED, State.PARKED, State.FAILED, State.CANCELLED}
