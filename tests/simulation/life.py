"""One life of the daemon: its chores are those that write; its waiting is what lets the world go on."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from autopilot.daemon.app import judge_until_done
from autopilot.daemon.backups import Backups
from autopilot.daemon.clockwork import Clockwork
from autopilot.daemon.delivery.courier import Courier
from autopilot.daemon.drafts import Drafts
from autopilot.daemon.inbox import Inbox, Message
from autopilot.daemon.loop import Loop
from autopilot.daemon.nightly import write_digest_if_due
from autopilot.daemon.probing import Probing
from autopilot.daemon.reconcile import Reconcile
from autopilot.daemon.retention import Retention
from autopilot.daemon.shop import Current, Shop
from autopilot.daemon.supervisor import Supervisor
from autopilot.daemon.turns import Turns
from autopilot.daemon.upkeep import Upkeep
from autopilot.daemon.vitals import Vitals
from autopilot.launchd.heartbeat import Silence
from autopilot.schemas.errors import ConfigError
from tests.simulation.clocks import VirtualScheduler
from tests.simulation.vault import TornStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from autopilot.config.settings import Settings
    from autopilot.daemon.watch import Watch
    from tests.simulation.world import World

_MS = 1000
_HOUR_MS = 3_600_000
_SELDOM_MS = 600_000
_SLOW = 0.35
"""How often more is told before the loop's thread wakes."""


class Life:
    """From start to end."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.scheduler = VirtualScheduler(world.clock)
        self.inbox = VirtualInbox(self)
        self.is_waiting = self.is_dead = False
        self._loop: Loop | None = None
        self._clockwork: Clockwork | None = None
        self.watches: list[Watch] = []
        self._last: list[Watch] = []
        """Those that had not ended when they were last looked at."""
        self._polls: dict[int, int] = {}
        self.supervisor = self._supervisor()
        store = TornStore(**world.store_fields(), world=world)
        current = Current(world.settings, config_file=world.paths.config_file, reload=self._reload)
        self._probing = Probing(self._supervisor()) if world.looks_over else None
        booted = (world.boot_ms, world.boot)
        self.shop = Shop(
            store, world.paths, world.clock, self.supervisor, current, *booted, probing=self._probing
        )

    def live(self) -> None:
        """Recover and judge until it is done, or dies."""
        drafts, turns = Drafts(self._supervisor()), Turns()
        digest = partial(write_digest_if_due, is_ready=drafts.are_told, turns=turns)
        couriers = [Courier(self._supervisor())] if self.world.has_channels else []
        also: list[Courier | Probing] = [*couriers, *filter(None, [self._probing])]
        kept = [Seldom(Backups(self.inbox, turns)), Seldom(Upkeep())] if self.world.looks_over else []
        loop = Loop(self.shop, chores=(drafts, digest, *kept, Reconcile(turns), Retention(turns), *also))
        poll_s = self.shop.settings.daemon.poll_s
        # As `app.py` does: read before recovery, so that a clock that is set meanwhile is noticed.
        clockwork = Clockwork(self.inbox, clock=self.world.clock, poll_s=poll_s, scheduler=self.scheduler)
        loop.recover()
        clockwork.start()
        self._loop, self._clockwork = loop, clockwork
        judge_until_done(loop, self.inbox, clockwork, Vitals(self.shop, Silence()))
        drafts.close()
        for each in also:
            each.close()

    @property
    def is_idle(self) -> bool:
        """Whether no child is under watch."""
        return not self._under_way()

    def tick(self) -> None:
        """One pass more, while the daemon waits for a message and somebody else is about to write."""
        if self._loop is not None and self._clockwork is not None:
            self.is_waiting = False
            self._clockwork.appoint(self._loop.tick(()))
            self.is_waiting = True

    def due_ms(self) -> list[int]:
        """When a thread of the daemon does something next, in milliseconds awake."""
        polls = [self._polls[id(watch)] for watch in self._under_way()]
        return polls if self.scheduler.wake_ms is None else [*polls, self.scheduler.wake_ms]

    def watch(self) -> None:
        """Let each thread that is due do its step, in any order."""
        now_ms = self.world.clock.awake_ms
        if self.scheduler.wake_ms is not None and self.scheduler.wake_ms <= now_ms:
            self.scheduler.look()
        for watch in self.world.chance.shuffled(self.watches):
            if watch.ending is None and self._polls[id(watch)] <= now_ms:
                self._step(watch)

    def _step(self, watch: Watch) -> None:
        if watch.step() is not None:
            self._polls[id(watch)] = self.world.clock.awake_ms + self.world.chance.between(
                *self.world.step_ms
            )

    def _under_way(self) -> list[Watch]:
        self._last = [watch for watch in self._last if watch.ending is None]
        return self._last

    def _start(self, watch: Watch) -> None:
        self.watches.append(watch)
        self._last.append(watch)
        self._polls[id(watch)] = self.world.clock.awake_ms + self.world.chance.between(0, 200)

    def _supervisor(self) -> Supervisor:
        return Supervisor(
            clock=self.world.clock, inbox=self.inbox, processes=self.world.table, start=self._start
        )

    def _reload(self) -> Settings:
        if self.world.is_fault(0.2):
            raise ConfigError("config-invalid", "a slip of the pen")
        return self.world.settings


class Seldom:
    """A chore that is asked when it said so, and else each ten minutes: a week has thousands of ticks."""

    def __init__(self, chore: Callable[[Shop], int | None]) -> None:
        self._chore = chore
        self._next_ms, self._asked_ms = 0.0, 0
        self._said: int | None = None

    def __call__(self, shop: Shop) -> int | None:
        now_ms = shop.now_ms()
        if not self._asked_ms <= now_ms < self._next_ms:
            self._said = self._chore(shop)
            self._asked_ms = now_ms
            self._next_ms = min(self._said or math.inf, now_ms + _SELDOM_MS)
        return self._said


class VirtualInbox(Inbox):
    """Waiting for a message is what lets the world go on."""

    def __init__(self, life: Life) -> None:
        super().__init__()
        self._life = life

    def put(self, message: Message) -> None:
        super().put(message)
        self._life.world.note(f"told: {message}")

    def take(self, wait_s: float) -> tuple[Message, ...]:
        world = self._life.world
        world.rest(self._life)
        limit_ms = _HOUR_MS if math.isinf(wait_s) else round(wait_s * _MS)
        deadline_ms = world.clock.awake_ms + limit_ms
        while True:
            if (messages := super().take(0)) and (world.is_calm or not world.chance.is_hit(_SLOW)):
                return messages
            if world.clock.awake_ms >= deadline_ms:
                if not math.isinf(wait_s):
                    return messages
                world.rest(self._life)  # it waits for ever, and the world goes on
                deadline_ms += limit_ms
            for message in messages:  # the loop's thread is slow to wake: more may come meanwhile
                Inbox.put(self, message)
            self._life.is_waiting = True
            world.turn(deadline_ms)
            self._life.is_waiting = False
