"""What wakes the loop by the clock. An alarm only leaves a message, on the scheduler's own thread.

Must not keep alarms anywhere but in memory (APScheduler, which calls them jobs, pickles them and drops rows
that it cannot read) and must not believe that one rang: what fell due is asked of the store.
Source: APScheduler 3.11, apscheduler/schedulers/base.py: by default a run a second late is dropped, and the
wait for the next does not count sleep; hence no grace limit, one coalesced run, a short interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED
from apscheduler.executors.debug import DebugExecutor
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.date import DateTrigger
from apscheduler.triggers.interval import IntervalTrigger

from autopilot.config.logs import logger
from autopilot.config.threads import start
from autopilot.daemon.inbox import Woken
from autopilot.schemas.events import Event
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from autopilot.config.clock import Clock
    from autopilot.daemon.inbox import Inbox

SLEEP_GAP_MS = 30 * MS_PER_S
LONGEST_APPOINTMENT_MS = 24 * 3600 * MS_PER_S
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Passed:
    """How long the machine slept, and by how much its clock was set ahead, or back (negative)."""

    slept_ms: int
    set_ms: int
    now_ms: int
    """UTC epoch ms, by the clock as it is now."""
    awake_ms: int = 0
    """How long the machine was awake since the last look; before the sleep or after it, nobody knows."""


class Clockwork:
    """The scheduler: a backstop look every so often, and one appointment at a time."""

    def __init__(self, inbox: Inbox, *, clock: Clock, poll_s: float, scheduler: Any = None) -> None:  # noqa: ANN401 - APScheduler ships no types
        """Take whom to wake and how often at least; the scheduler is APScheduler's but in a simulation."""
        self._inbox = inbox
        self._clock = clock
        self._before = _read(clock)
        self._scheduler = _background_scheduler() if scheduler is None else scheduler
        every = IntervalTrigger(seconds=poll_s, timezone=UTC)  # else the host's zone is read, and judged
        self._scheduler.add_job(self._wake, every, ["backstop"], id="backstop")
        self._scheduler.add_listener(
            self.tell_trouble, EVENT_JOB_MISSED | EVENT_JOB_ERROR | EVENT_JOB_MAX_INSTANCES
        )

    def start(self) -> None:
        """Wake from now on.

        Raises:
            TransientError: no thread can be started.
        """
        start(self._scheduler)

    def stop(self) -> None:
        """End the scheduler's threads."""
        self._scheduler.shutdown(wait=True)

    def appoint(self, at_ms: int | None) -> None:
        """Wake the loop at this moment (UTC epoch ms) too, within a day; it replaces an earlier one."""
        if at_ms is None:
            return
        soon_ms = min(at_ms, self._clock.now_ms() + LONGEST_APPOINTMENT_MS)
        trigger = DateTrigger(_EPOCH + timedelta(milliseconds=soon_ms), timezone=UTC)
        self._scheduler.add_job(self._wake, trigger, ["appointment"], id="appointment", replace_existing=True)

    def passed(self) -> Passed:
        """Tell what became of the time since this was last asked."""
        before, self._before = self._before, _read(self._clock)
        wall_ms, awake_ms, elapsed_ms = (now - then for now, then in zip(self._before, before, strict=True))
        slept_ms, set_ms = elapsed_ms - awake_ms, wall_ms - elapsed_ms
        return Passed(
            slept_ms=slept_ms if slept_ms > SLEEP_GAP_MS else 0,
            set_ms=set_ms if abs(set_ms) > SLEEP_GAP_MS else 0,
            now_ms=self._before[0],
            awake_ms=awake_ms,
        )

    def _wake(self, by: str) -> None:
        self._inbox.put(Woken(by))

    def alarms(self) -> list[Any]:
        """Give all that it will wake the loop by."""
        return list(self._scheduler.get_jobs())

    def tell_trouble(self, event: Any) -> None:  # noqa: ANN401 - APScheduler ships no types
        """Log that the scheduler missed an alarm, and look at once."""
        logger("daemon").warning(
            Event.SCHEDULE_MISSED,
            alarm=event.job_id,
            trouble=event.code,
            error=repr(getattr(event, "exception", None)),
        )
        self._inbox.put(Woken("missed schedule"))


def _read(clock: Clock) -> tuple[int, int, int]:
    """Give the wall, the time awake and the time passed, in milliseconds."""
    return clock.now_ms(), round(clock.monotonic_s() * MS_PER_S), round(clock.elapsed_s() * MS_PER_S)


def _background_scheduler() -> Any:  # noqa: ANN401 - APScheduler ships no types
    return BackgroundScheduler(
        jobstores={"default": MemoryJobStore()},
        executors={"default": DebugExecutor()},  # on its own thread: a second one may be refused us later
        job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        timezone=UTC,
    )
