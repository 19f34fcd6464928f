"""What a look over the machine starts from: whose machine, which configuration, until when the night lasts.

Must not look at anything itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config import environ
from autopilot.daemon import demand, windows
from autopilot.schemas.units import MS_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.config.settings import Settings

_UNTOLD_MS = 12 * 3600 * MS_PER_S
"""A night of which nobody says when it ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """Who will start the agents, and with which environment: a daemon that runs, the service, or we."""

    who: str
    environment: Mapping[str, str]
    is_us: bool = False
    is_service: bool = False
    """It is not started yet: what its init system gives it beside its file is not in `environment`."""

    @property
    def surroundings(self) -> Mapping[str, str]:
        """Give what a child starts from that asks for it: a service says little, the rest is ours."""
        return {**environ.current(), **self.environment} if self.is_service else self.environment

    @property
    def owner(self) -> str:
        """Say whose a thing is, to be put behind it; nothing where it is ours."""
        return "" if self.is_us else f" of {self.who}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The machine as it is asked about."""

    paths: Paths
    clock: Clock
    settings: Settings
    runner: Runner
    until_ms: int | None = None
    """When the switch turns off by itself (UTC epoch ms)."""
    is_at_any_hour: bool = False
    """The window does not count tonight."""
    is_fresh: bool = False
    """What was found out earlier does not count."""

    def window(self) -> tuple[int, int] | None:
        """Give begin and end (UTC epoch ms) of the window that is open, or opens next; None without one."""
        schedule = demand.schedule_of(self.settings)
        if schedule is None or self.is_at_any_hour:
            return None
        return windows.next_window(schedule, self.clock.now_ms())

    def ends_ms(self) -> int:
        """Give the end of the night (UTC epoch ms)."""
        now_ms, window = self.clock.now_ms(), self.window()
        ends_ms = now_ms + _UNTOLD_MS if window is None else window[1]
        return ends_ms if self.until_ms is None else min(ends_ms, self.until_ms)
