"""Virtual time: a wall that jumps and a count of seconds awake that does not; and APScheduler's stand-in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from apscheduler.triggers.date import DateTrigger

_MS = 1000


class VirtualClock:
    """Fulfils the product's Clock protocol."""

    def __init__(self, wall_ms: int) -> None:
        self.wall_ms = wall_ms
        self.awake_ms = 1_000_000
        self.slept_ms = 0
        self.escaped_ms = 0
        """By how much the wall was set ahead, unnoticed, before a reboot, or after one before any daemon had
        written down what it shows: nobody can know of it."""
        self._is_watched = False
        self._unread = 0
        self._unread_ms = 0

    def now_ms(self) -> int:
        return self.wall_ms

    def monotonic_s(self) -> float:
        return self.awake_ms / _MS

    @property
    def elapsed_ms(self) -> int:
        return self.awake_ms + self.slept_ms

    @property
    def known_ms(self) -> int:
        """The time passed as far as the product can know: what was set ahead unseen looks like time."""
        return self.elapsed_ms + self.escaped_ms

    def elapsed_s(self) -> float:
        return self.elapsed_ms / _MS

    def go_to(self, awake_ms: int) -> None:
        """Let time go by, awake."""
        if awake_ms > self.awake_ms:
            self.wall_ms += awake_ms - self.awake_ms
            self.awake_ms = awake_ms

    def sleep(self, ms: int) -> None:
        """The machine sleeps: the wall goes on, the count of seconds awake does not."""
        self.wall_ms += ms
        self.slept_ms += ms

    def jump(self, ms: int) -> None:
        """Somebody sets the wall."""
        self.wall_ms += ms
        if not self._is_watched:
            self.escaped_ms += max(0, ms)
            return
        self._unread = 2
        self._unread_ms += max(0, ms)

    def is_read(self) -> None:
        """The daemon has compared wall and time passed, and written down what it found."""
        self._is_watched = True
        self._unread = max(0, self._unread - 1)
        if not self._unread:
            self._unread_ms = 0

    def restart(self) -> None:
        """The machine starts anew: what no daemon has written down until now cannot be known any more."""
        self.escaped_ms += self._unread_ms
        self._unread = self._unread_ms = 0
        self._is_watched = False


@dataclass
class Job:
    """What is called, when next by the wall, and how often."""

    call: Callable[..., Any]
    args: Sequence[Any]
    next_ms: int
    every_ms: int


class VirtualScheduler:
    """Does what APScheduler's background scheduler does for `Clockwork`, on virtual time.

    Its thread sleeps so many seconds *awake* as the wall says until the next job, and is woken early only by
    a new job; a late job runs once. Source: apscheduler/schedulers/{base,blocking}.py, 3.11.
    """

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._jobs: dict[str, Job] = {}
        self._is_started = False
        self.wake_ms: int | None = None
        """When the thread looks next, in milliseconds awake."""

    def add_listener(self, *_: object) -> None:
        """Nothing goes wrong in here."""

    def add_job(
        self,
        call: Callable[..., Any],
        trigger: Any,
        args: Sequence[Any],
        *,
        id: str,  # noqa: A002 - APScheduler's name
        **_: object,
    ) -> None:
        if isinstance(trigger, DateTrigger):
            self._jobs[id] = Job(call, args, round(trigger.run_date.timestamp() * _MS), 0)
        else:
            every_ms = round(trigger.interval.total_seconds() * _MS)
            self._jobs[id] = Job(call, args, self._clock.wall_ms + every_ms, every_ms)
        if self._is_started:
            self.wake_ms = self._clock.awake_ms

    def start(self) -> None:
        self._is_started = True
        self.wake_ms = self._clock.awake_ms

    def shutdown(self, **_: object) -> None:
        self.wake_ms = None

    def appointment_ms(self) -> int | None:
        """The wall time of the one appointment there may be."""
        job = self._jobs.get("appointment")
        return None if job is None else job.next_ms

    def look(self) -> None:
        """Run what is due by the wall; sleep until the next."""
        now_ms = self._clock.wall_ms
        for name, job in tuple(self._jobs.items()):
            if job.next_ms > now_ms:
                continue
            if job.every_ms:
                job.next_ms += (1 + (now_ms - job.next_ms) // job.every_ms) * job.every_ms
            else:
                del self._jobs[name]
            job.call(*job.args)
        soonest = min((job.next_ms for job in self._jobs.values()), default=None)
        self.wake_ms = None if soonest is None else self._clock.awake_ms + max(1, soonest - now_ms)
