"""One tick: what ended is judged, what is verified is published, what may start is started.

Everything that judges runs on the one thread that calls `tick`. Must not wait for a child, and must outlive
any fault of one ticket; only a store that cannot keep state ends the daemon.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, TypeVar, assert_never

from autopilot.config import installed
from autopilot.config.logs import logger
from autopilot.daemon import faults, launching, live, recover, sleeping, told
from autopilot.daemon.giving_way import GivingWay
from autopilot.daemon.inbox import Ended, LockTried, Spent, StopAsked, Woken
from autopilot.daemon.leasing import Leasing
from autopilot.daemon.standstill import Alarm
from autopilot.daemon.store import queries_host, queries_runs, queries_tickets, steps, writes
from autopilot.schemas.errors import AutopilotError, StaleTransitionError, TransientError
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager

    from autopilot.daemon.clockwork import Passed
    from autopilot.daemon.inbox import Message
    from autopilot.daemon.shop import Shop
    from autopilot.schemas.ticket import Hold, Ticket

T = TypeVar("T")

MAX_PUBLISHERS = 2
_DRAIN_LOOK_S = 1.0
TURN_S = 20.0
"""How long one turn of the loop waits for the database, however much it writes: no watchdog must bite."""
FULL = "database-full"


class Loop:
    """The judge's one thread."""

    def __init__(self, shop: Shop, *, chores: Sequence[Callable[[Shop], int | None]] = ()) -> None:
        """Take the place, and what else is due at times; nothing is looked at before the first tick.

        Args:
            shop: the place.
            chores: asked on every tick; each gives when it is due next (UTC epoch ms).
        """
        self._shop = shop
        self._chores = chores
        self._leases = Leasing()
        self._alarm = Alarm()
        self._giving_way = GivingWay(shop.clock)
        self._broken: dict[str, Hold] = {}
        self._is_in_time, self._owes_adoption = False, False
        self._stops = 0
        self._drain_until_s = 0.0
        self.complaints = faults.Complaints(shop.clock)
        self.unsaved: list[Message] = []
        """What the last tick was told and could not take in: to be told again."""

    @property
    def is_draining(self) -> bool:
        """Tell whether the daemon is on its way out."""
        return self._stops > 0

    @property
    def is_done(self) -> bool:
        """Tell whether it may go: it was asked to, and every child's end is judged, or is the next one's."""
        return self.is_draining and (self._giving_way.is_due or self._shop.supervisor.is_idle)

    @property
    def patience_s(self) -> float:
        """Give the seconds the loop may wait while it drains; without end as a rule."""
        if not self.is_draining:
            return math.inf
        left_s = round(self._drain_until_s - self._shop.clock.monotonic_s(), 3)
        return left_s if left_s > 0 else _DRAIN_LOOK_S

    def patience(self) -> AbstractContextManager[None]:
        """Bound how long all that is written in the block waits for the database."""
        return self._shop.store.patience(TURN_S)

    def recover(self) -> None:
        """Adopt what an earlier daemon left running and judge the rest; before any claim."""
        self._owes_adoption = True
        self._contain(self._adopt)
        self._contain(partial(recover.tell_orphans, self._shop))
        try:
            is_in_time = self.catch_up()
        except TransientError as error:
            if error.code != FULL:
                raise
            is_in_time = False
        if is_in_time:
            self._contain(self._judge)

    def _adopt(self) -> None:
        """Watch what nobody watches; owed for as long as not every row could be read."""
        found = live.look(self._shop, self._contain)
        for ticket, adopt in found.adoptions(self._shop):
            self._guard(ticket, adopt)
        self._owes_adoption = not found.is_whole

    def catch_up(self) -> bool:
        """Notice what the clock did while no daemon ran; before anything is judged by it.

        Returns:
            Whether that is known; where it is not, ask again.

        Raises:
            AutopilotError: the store failed.
        """
        if not self._is_in_time:
            found = self._contain(partial(steps.catch_up, self._shop.store, self._shop.boot))
            self._is_in_time = found is True
        return self._is_in_time

    def follow_clock(self, passed: Passed) -> bool:
        """Let what we promised for later move along with a clock that was set, and tell of sleep.

        Returns:
            Whether a step is written down; where it is not, say it again: a day's money hangs on it.

        Raises:
            AutopilotError: the store failed.
        """
        step = partial(steps.record, self._shop.store, passed.set_ms, now_ms=passed.now_ms)
        is_kept = not passed.set_ms or self._contain(step) is True
        if is_kept:
            self._contain(partial(sleeping.record, self._shop, passed))
        return is_kept

    def hear(self, asked: Iterable[StopAsked]) -> None:
        """Take it into account, before the next tick, that somebody asks us to end; nothing is written."""
        for message in asked:
            self._contain(partial(self._take, message))

    def tick(self, messages: Iterable[Message] = ()) -> int | None:
        """Do one pass.

        Args:
            messages: what was told since the last.

        Returns:
            When something will change by itself (UTC epoch ms), as far as is known.

        Raises:
            AutopilotError: the store failed.
        """
        self._shop.store.check_place()
        # Who asks us to end is heard even where nothing can be written.
        heard = sorted(messages, key=lambda message: not isinstance(message, StopAsked))
        self.unsaved = [one for one in heard if self._contain(partial(self._take, one)) is None]
        self._contain(self._refresh)
        self._contain(self._stop_what_must)
        if (hold := self._giving_way.look()) is not None:
            self._contain(partial(writes.sync_holds, self._shop.store, (hold,)))
            self._contain(partial(self._leases, self._shop))
            return self._giving_way.next_ms()
        self._contain(self._judge)
        renewal_ms = self._contain(partial(self._leases, self._shop))
        if self.is_draining:
            return renewal_ms
        self._contain(self._begin_publications)
        moments = [renewal_ms, self._contain(self._launch)]
        moments += [self._contain(partial(chore, self._shop)) for chore in self._chores]
        return min((moment for moment in moments if moment is not None), default=None)

    def _refresh(self) -> None:
        match self._shop.current.refresh():
            case True:
                logger("daemon").info(Event.CONFIG_RELOADED)
            case AutopilotError() as error:
                logger("daemon").error(Event.CONFIG_REFUSED, error=error.what, hint=error.hint)
            case False:
                pass

    def _take(self, message: Message) -> bool:
        match message:
            case Spent() | LockTried():
                told.write_down(self._shop, message)
            case StopAsked():
                self._stops += 1
                drain_s = self._shop.settings.daemon.drain_s if self._stops == 1 else 0.0
                self._drain_until_s = self._shop.clock.monotonic_s() + drain_s
            case Ended() | Woken():
                pass  # the tick itself is the answer
            case _:
                assert_never(message)
        return True

    def _stop_what_must(self) -> None:
        shop, why = self._shop, ""
        is_over = self.is_draining and shop.clock.monotonic_s() >= self._drain_until_s
        if is_over and not installed.is_replaced():  # else what runs is the next daemon's
            why = "the daemon stops"
        elif self._is_off_at_once():
            why = "switched off"
        for key in shop.supervisor.stop_all(why) if why else ():
            logger("daemon").info(Event.RUN_STOPPING, run=key, why=why)

    def _is_off_at_once(self) -> bool:
        with self._shop.store.read() as conn:
            return launching.must_stop_running(queries_host.switch(conn), self._shop.now_ms())

    def _judge(self) -> None:
        shop = self._shop
        if self._owes_adoption:
            self._adopt()
        found = live.look(shop, self._contain)
        if found.is_whole:
            shop.supervisor.forget_strangers(found.keys)
        for ticket, step in found.steps(shop):
            self._guard(ticket, step)

    def _launch(self) -> int | None:
        try:
            outlook = launching.launch_all(self._shop, guard=self._guard, skip=self._broken)
        finally:
            self._alarm.look(self._shop, skip=self._broken)
        holds = (*outlook.holds, *self._broken.values(), *self._alarm.holds)
        writes.sync_holds(self._shop.store, holds)
        return outlook.next_ms

    def _begin_publications(self) -> None:
        shop = self._shop
        with shop.store.read() as conn:
            if launching.must_stop_running(queries_host.switch(conn), shop.now_ms()):
                return
            free = max(0, MAX_PUBLISHERS - len(queries_runs.publishing(conn)))
            ready = queries_tickets.ready_to_publish(conn, shop.now_ms())
        due = [one for one in ready if one.id not in self._broken][:free]
        for ticket, begin in live.beginnings(shop, due):
            self._guard(ticket, begin)

    def _contain(self, step: Callable[[], T]) -> T | None:
        """Let a fault of one step of the tick be logged, and the next step be taken."""
        try:
            return step()
        except Exception as error:
            if faults.is_fatal(error):
                raise
            self.complaints.tell(Event.TICK_FAILED, error)
            is_unreadable = isinstance(error, ValueError | TypeError)
        if is_unreadable:  # not above: the error holds on to the cursor that failed, and that to its snapshot
            self._mend_rows()
        return None

    def _mend_rows(self) -> None:
        """Reading failed: one row that cannot be read must not keep all others from being looked at."""
        try:
            from autopilot.daemon import setting_apart  # noqa: PLC0415 - an idle daemon has nothing to mend

            setting_apart.mend_rows(self._shop)
        except Exception as error:
            if faults.is_fatal(error):
                raise
            self.complaints.tell(Event.TICK_FAILED, error)

    def _guard(self, ticket: Ticket, act: Callable[[], object]) -> None:
        """Let one ticket's fault stop that ticket, with its reason, and nothing else."""
        try:
            act()
        except StaleTransitionError:
            return  # it changed meanwhile: the next tick sees how
        except Exception as error:
            if faults.is_fatal(error):
                raise
            if faults.is_for_later(error):  # what its child left is there at the next tick
                self.complaints.tell(Event.TICK_FAILED, error)
                return
            self.complaints.tell(Event.TICKET_FAULTED, error, ticket=ticket.id)
            self._set_apart(ticket, error)

    def _set_apart(self, ticket: Ticket, error: Exception) -> None:
        """Park a ticket that could not be handled; where even that fails, hold it until the next start."""
        is_told = isinstance(error, AutopilotError)
        reason = f"it could not be handled: {error}" if is_told else f"bug: {error!r}"
        try:
            from autopilot.daemon import setting_apart  # noqa: PLC0415 - as above
        except (OSError, MemoryError, ImportError):
            return  # the machine is short of something: the next tick meets the fault again
        try:
            setting_apart.park(self._shop, ticket, reason)
        except StaleTransitionError:
            return
        except Exception as second:
            if faults.is_fatal(second):
                raise
            if faults.is_for_later(second):
                return  # as above
            self._broken[ticket.id] = faults.hold(ticket, reason, self._shop.now_ms())
        self._shop.supervisor.forget_ended(ticket.run_id or "")
