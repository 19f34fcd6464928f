"""What the steps of one tick share, and the configuration as it is now.

Must not hold anything that a restart would miss: that is in the store.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.daemon.rules import rules_of
from autopilot.schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.config.paths import Paths
    from autopilot.config.settings import Settings
    from autopilot.daemon.probing import Probing
    from autopilot.daemon.rules import Rules
    from autopilot.daemon.store.engine import Store
    from autopilot.daemon.supervisor import Supervisor
    from autopilot.schemas.ticket import Hold


class Current:
    """The settings, read again when the file changed; the last good ones while it is broken."""

    def __init__(
        self, settings: Settings, *, config_file: Path, reload: Callable[[], Settings] | None = None
    ) -> None:
        """Take the settings as loaded, their file, and how to load them again."""
        self.settings = settings
        self.rules: Rules = rules_of(settings)
        self._file = config_file
        self._reload = reload
        self._seen = _stamp(config_file)

    def refresh(self) -> ConfigError | bool:
        """Read the file again if it changed: True, False when it did not, or what is wrong with it."""
        stamp = _stamp(self._file)
        if self._reload is None or stamp == self._seen:
            return False
        self._seen = stamp
        try:
            self.settings = self._reload()
        except ConfigError as error:
            return error
        self.rules = rules_of(self.settings)
        return True


@dataclass(frozen=True, slots=True)
class Shop:
    """Where everything is."""

    store: Store
    paths: Paths
    clock: Clock
    supervisor: Supervisor
    current: Current
    boot_ms: int
    """When this machine started, UTC epoch ms."""
    boot: str | None = None
    """The name of this boot, where the system has one; unlike `boot_ms` it follows no clock."""
    probing: Probing | None = None
    """Who looks the machine over while the switch is on; None: nobody, and it holds nothing."""

    @property
    def settings(self) -> Settings:
        """Give the settings as they are now."""
        return self.current.settings

    @property
    def rules(self) -> Rules:
        """Give the numbers as they are now."""
        return self.current.rules

    def is_of_this_boot(self, boot: str | None) -> bool:
        """Tell whether a process noted under that boot can still live; an unnamed one may."""
        return boot is None or self.boot is None or boot == self.boot

    def probed(self) -> tuple[Hold, ...]:
        """Give what the machine itself keeps from starting, as it was seen last."""
        return () if self.probing is None else self.probing.holds(self)

    def now_ms(self) -> int:
        """Give UTC epoch ms."""
        return self.clock.now_ms()

    def jitter(self) -> float:
        """Give a number in [0, 1) that spreads retries."""
        return self.store.entropy.fraction()


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
