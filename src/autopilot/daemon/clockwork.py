"""What wakes the loop by the clock. A job only leaves a message: nothing is done on the scheduler's thread.

Must not keep jobs anywhere but in memory (APScheduler pickles them, and drops rows it cannot read) and must
not believe that a job ran: what fell due is asked of the store.
Source: APScheduler 3.11, apscheduler/schedulers/base.py: by default a run a second late is dropped, and the
wait for the next does not count sleep; hence no grace limit, one coalesced run, a short interval.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.date import DateTrigger
from apscheduler.triggers.interval import IntervalTrigger

from autopilot.config.logs import logger
from autopilot.daemon.inbox import Woken
from autopilot.schemas.events import Event
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from autopilot.config.clock import Clock
    from autopilot.daemon.inbox import Inbox

SLEEP_GAP_MS = 30 * MS_PER_S
LONGEST_APPOINTMENT_MS = 24 * 3600 * MS_PER_S
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clockwork:
    """The scheduler: a backstop look every so often, and one appointment at a time."""

    def __init__(self, inbox: Inbox, *, clock: Clock, poll_s: float) -> None:
        """Take whom to wake and how often at least."""
        self._inbox = inbox
        self._clock = clock
        self._wall_ms, self._awake_s = clock.now_ms(), clock.monotonic_s()
        self._scheduler = BackgroundScheduler(
            jobstores={"default": MemoryJobStore()},
            executors={"default": ThreadPoolExecutor(1)},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
            timezone=UTC,
        )
        self._scheduler.add_job(self._wake, IntervalTrigger(seconds=poll_s), ["backstop"], id="backstop")
        self._scheduler.add_listener(
            self.tell_trouble, EVENT_JOB_MISSED | EVENT_JOB_ERROR | EVENT_JOB_MAX_INSTANCES
        )

    def start(self) -> None:
        """Wake from now on."""
        self._scheduler.start()

    def stop(self) -> None:
        """End the scheduler's threads."""
        self._scheduler.shutdown(wait=True)

    def appoint(self, at_ms: int | None) -> None:
        """Wake the loop at this moment (UTC epoch ms) too, within a day; it replaces an earlier one."""
        if at_ms is None:
            return
        soon_ms = min(at_ms, self._clock.now_ms() + LONGEST_APPOINTMENT_MS)
        trigger = DateTrigger(_EPOCH + timedelta(milliseconds=soon_ms))
        self._scheduler.add_job(self._wake, trigger, ["appointment"], id="appointment", replace_existing=True)

    def slept_ms(self) -> int:
        """Give how long the machine slept, or its clock was set ahead, since this was last asked."""
        wall_ms, awake_s = self._clock.now_ms(), self._clock.monotonic_s()
        gap_ms = (wall_ms - self._wall_ms) - round((awake_s - self._awake_s) * MS_PER_S)
        self._wall_ms, self._awake_s = wall_ms, awake_s
        return gap_ms if gap_ms > SLEEP_GAP_MS else 0

    def _wake(self, by: str) -> None:
        self._inbox.put(Woken(by))

    def jobs(self) -> list[Any]:
        """Give the scheduler's jobs."""
        return list(self._scheduler.get_jobs())

    def tell_trouble(self, event: Any) -> None:  # noqa: ANN401 - APScheduler ships no types
        """Log that the scheduler missed a job, and look at once."""
        logger("daemon").warning(
            Event.SCHEDULE_MISSED,
            job=event.job_id,
            trouble=event.code,
            error=repr(getattr(event, "exception", None)),
        )
        self._inbox.put(Woken("missed schedule"))
