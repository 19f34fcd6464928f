"""What an actor remembers of a ticket, and every move that it may try with that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from autopilot.daemon import transitions, transitions_publish
from autopilot.daemon.decide import RunReport
from autopilot.daemon.store.engine import Store
from autopilot.daemon.store.rows import Attempt, Claim, LivePublication, Publication
from autopilot.schemas.decision import (
    Cancel,
    Fail,
    Park,
    Pass,
    PublishDone,
    PublishLater,
    Release,
    Retry,
)
from autopilot.schemas.machine import State, WaitingFor
from autopilot.schemas.publication import PublishOutcome, PublishVerdict
from autopilot.schemas.run import Outcome
from autopilot.schemas.ticket import Ticket
from tests.support import queue, words

RULES = replace(
    queue.ROOMY,
    ticket_ceiling_micro_usd=1000 * queue.USD,
    sessions_per_ticket=10_000,
    breaker_open_after=10_000,
)
PARK = Park(WaitingFor.QUESTIONS, "asks", "answer it", ("Why?",))


@dataclass(frozen=True)
class Seen:
    """What one actor knows: a ticket with its latest attempt and publication, as they once were."""

    ticket: Ticket
    attempt: Attempt | None
    publication: Publication | None

    def report(self) -> RunReport:
        """What the run that it knows would hand in."""
        if self.attempt is None:
            return words.result(Outcome.BUG, run_id="T-0-a1-00000000")
        return queue.result(Claim(self.ticket, self.attempt))

    def verdict(self) -> PublishVerdict | None:
        """What the publisher that it knows would hand in."""
        if self.publication is None:
            return None
        live = LivePublication(self.ticket, self.publication)
        return queue.verdict(live, PublishOutcome.PR_OPENED, fence=self.publication.fence)


Move = Callable[[Store, Seen], object]
ENDS_RUN: dict[str, Move] = {
    "pass": lambda store, me: transitions.pass_(
        store, me.ticket, me.report(), Pass(words.HEAD, words.BASE), rules=RULES
    ),
    "retry": lambda store, me: transitions.retry(store, me.ticket, me.report(), Retry(0, "x"), rules=RULES),
    "release": lambda store, me: transitions.release(
        store, me.ticket, me.report(), Release(0, "x"), rules=RULES
    ),
    "fail": lambda store, me: transitions.fail(store, me.ticket, me.report(), Fail("x"), rules=RULES),
    "park with a run": lambda store, me: transitions.park(
        store, me.ticket, PARK, report=me.report(), rules=RULES
    ),
    "cancel with a run": lambda store, me: transitions.cancel(
        store, me.ticket, Cancel("x"), report=me.report(), rules=RULES
    ),
}
ENDS_PUBLICATION: dict[str, Move] = {
    "publish_done": lambda store, me: transitions_publish.publish_done(
        store, me.ticket, me.verdict(), PublishDone(None, words.HEAD, awaiting_pr=True)
    ),
    "publish_later": lambda store, me: transitions_publish.publish_later(
        store, me.ticket, me.verdict(), PublishLater(0, "x")
    ),
    "lost publisher": lambda store, me: transitions_publish.publish_later(
        store, me.ticket, None, PublishLater(0, "x")
    ),
    "park_publish": lambda store, me: transitions_publish.park_publish(store, me.ticket, me.verdict(), PARK),
}
STARTS: dict[str, Move] = {
    "claim": lambda store, me: transitions.claim(store, me.ticket, agent=queue.AGENT, rules=RULES),
    "begin_publish": lambda store, me: transitions_publish.begin_publish(
        store, me.ticket, base="main", base_sha=words.BASE
    ),
}
RESTS: dict[str, Move] = {
    "park": lambda store, me: transitions.park(store, me.ticket, PARK),
    "cancel": lambda store, me: transitions.cancel(store, me.ticket, Cancel("x"), by="me"),
    "resume_run": lambda store, me: transitions.resume_run(store, me.ticket, by="me", answers=("Yes",)),
    "resume_publish": lambda store, me: transitions_publish.resume_publish(store, me.ticket, by="me"),
    "requeue": lambda store, me: transitions.requeue(store, me.ticket, by="me"),
}
PLAUSIBLE = {
    State.QUEUED: ("claim", "claim", "park", "cancel"),
    State.RUNNING: tuple(ENDS_RUN),
    State.COMMITTED: ("begin_publish", "begin_publish", "cancel"),
    State.PUBLISHING: tuple(ENDS_PUBLICATION),
    State.PARKED: ("resume_run", "resume_publish", "cancel"),
    State.FAILED: ("requeue",),
    State.CANCELLED: ("requeue",),
    State.PUBLISHED: (),
}
MOVES = {**ENDS_RUN, **ENDS_PUBLICATION, **STARTS, **RESTS}
