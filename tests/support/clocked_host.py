"""A daemon on a clock that a test sets: it looks at the clock before each tick, as the real one does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from autopilot.daemon.clockwork import Clockwork
from autopilot.daemon.inbox import Inbox, Message
from autopilot.daemon.loop import Loop
from autopilot.daemon.nightly import write_digest_if_due
from autopilot.daemon.outlasting import Outlasting
from autopilot.daemon.retention import Retention
from autopilot.daemon.store import writes
from autopilot.schemas.machine import State
from autopilot.schemas.run import Outcome
from tests.support import queue
from tests.support.shop import Stage

HOUR_S = 3600
DAY_S = 24 * HOUR_S
YEAR_S = 365 * DAY_S
CEILING = (
    "cost_ceiling_usd = 4.5\nrun_ceiling_usd = 4\nticket_ceiling_usd = 4\nstop_launching_percent = 100\n"
)


class Host:
    """A stage whose daemon looks at the clock before each tick, as the real one does."""

    def __init__(self, folder: Path, *, config: str = "") -> None:
        self.stage = Stage(folder, config=config)
        self.clock = self.stage.clock
        writes.turn_on(self.stage.store, by="test")
        self.start()

    def start(self) -> None:
        """Be a daemon that has just come up."""
        self.clockwork = Clockwork(Inbox(), clock=self.clock, poll_s=3600)
        self.loop = Loop(self.stage.shop, chores=[write_digest_if_due, Retention()])
        self.tick = Outlasting(self.loop)
        self.loop.recover()

    def boots_as(self, boot: str | None) -> None:
        """Be a daemon that has just come up, in the boot of that name."""
        self.stage.shop = replace(self.stage.shop, boot=boot)
        self.start()

    def look(self, messages: Sequence[Message] = ()) -> None:
        """One turn of the daemon's loop."""
        self.tick.heed(self.clockwork.passed())
        self.tick(messages)

    def spend(self) -> None:
        """Let the first ticket cost one of four dollars and a half; a second may not have four more."""
        queue.add(self.stage.store, "first")
        self.look()
        claim = self.stage.claim_of("T-1")
        self.stage.hand_in(queue.result(claim, Outcome.NO_CHANGES))
        self.look()
        assert self.stage.state() is State.PARKED
        queue.add(self.stage.store, "second")
        self.look()
        assert self.stage.hold_names() == {"cost-ceiling"}
