"""What keeps the loop's ticks from coming to a good end: since when, how often, why, and what is to be done.

Other threads read it: a value is put in its place whole. Must not be kept in the database, which may be what
the ticks fail at.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from autopilot.config.plain import one_line
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from autopilot.config.clock import Clock

LONGEST_TICK_S = 60.0
"""Three times what all writes of a tick wait for the database together: one that takes longer stands."""
_CURE = "look for tick.failed in the daemon's log, and run autopilot doctor; it tries again by itself"
_STANDS = "run autopilot doctor; if it goes on, autopilot stop --all, then autopilot on"


@dataclass(frozen=True, slots=True)
class Trouble:
    """The series of failed ticks that has not ended yet; what was decided by ticks is as old as that."""

    since_ms: int
    ticks: int
    """How many failed, the one under way included."""
    reason: str
    cure: str


class Troubles:
    """Told by the loop's thread, asked by any."""

    def __init__(self, clock: Clock) -> None:
        """Begin without any."""
        self._clock = clock
        self._series: Trouble | None = None
        self._is_hit = False
        self._began_s: float | None = None

    @contextmanager
    def tick(self) -> Iterator[None]:
        """Hold one tick; one that meets no fault ends the series."""
        self._is_hit, self._began_s = False, self._clock.monotonic_s()
        try:
            yield
        finally:
            self._began_s = None
        if not self._is_hit:
            self._series = None

    def note(self, error: Exception) -> None:
        """Take a fault of the tick under way; the first one is its reason."""
        if self._is_hit:
            return
        self._is_hit, known = True, self._series
        reason, cure = f"{type(error).__name__}: {error}", ""
        if isinstance(error, AutopilotError):
            reason, cure = error.what, error.hint
        self._series = Trouble(
            since_ms=self._clock.now_ms() if known is None else known.since_ms,
            ticks=1 if known is None else known.ticks + 1,
            reason=one_line(reason),
            cure=cure or _CURE,
        )

    @property
    def shown(self) -> dict[str, Any] | None:
        """Give the same as plain values."""
        now = self.now
        return None if now is None else asdict(now)

    @property
    def now(self) -> Trouble | None:
        """Give what is wrong at this moment."""
        began_s = self._began_s
        lasts_s = 0.0 if began_s is None else self._clock.monotonic_s() - began_s
        if lasts_s < LONGEST_TICK_S:
            return self._series
        since_ms = self._clock.now_ms() - round(lasts_s * MS_PER_S)
        return Trouble(since_ms, 1, f"one tick has not come to its end for {lasts_s:.0f} s", _STANDS)
