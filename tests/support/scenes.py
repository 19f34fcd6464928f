"""A machine to look over, as the check-up takes it: its settings, a clock, an environment that is given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from autopilot.config.clock import Clock, SystemClock
from autopilot.config.load import load
from autopilot.config.paths import paths_below
from autopilot.daemon.checkup.probe import Limit
from autopilot.daemon.checkup.scene import Runner, Scene
from tests.support.clock import FakeClock

REAL = SystemClock()


def scene(
    home: Path,
    config: str = "",
    *,
    clock: Clock | None = None,
    environment: Mapping[str, str] | None = None,
    until_ms: int | None = None,
    is_at_any_hour: bool = False,
    is_fresh: bool = False,
) -> Scene:
    """Write a configuration and look at it."""
    home.mkdir(parents=True, exist_ok=True)
    paths = paths_below(home)
    paths.config_file.write_text(config, encoding="utf-8")
    given = {"PATH": "/usr/bin:/bin", "HOME": str(home)} if environment is None else environment
    return Scene(
        paths=paths.ensure(),
        clock=clock or FakeClock(),
        settings=load(paths),
        runner=Runner(who="this terminal", environment=given, is_us=True),
        until_ms=until_ms,
        is_at_any_hour=is_at_any_hour,
        is_fresh=is_fresh,
    )


def limit(within_s: float = 60.0) -> Limit:
    """So long may a probe take, by the real clock."""
    return Limit(REAL, REAL.monotonic_s() + within_s)
