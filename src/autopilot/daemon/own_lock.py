"""The lock from on to off of a daemon that no service keeps: its own, as the lock of a run is.

Must not be asked for again and again: a system that has no locks has none a little later either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from autopilot.config.settings import Settings
    from autopilot.launchd.awake import AwakeLock, More


class OwnLock:
    """Fulfils what `Vigil` asks of an init system. It ends with this process, however that ends."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        """Take who tells the configuration as it stands."""
        self._settings = settings
        self._lock: AwakeLock | None = None
        self._fault = ""

    @property
    def init(self) -> str:
        """Give the kind of the lock."""
        return self._lock.kind if self._lock is not None else "none"

    @property
    def lack(self) -> tuple[str, str]:
        """Say why nothing is held: a code, and the system's own words."""
        if self._fault:
            return "awake-not-started", self._fault
        if self._lock is None:
            return "awake-not-given", "it was not asked for"
        return self._lock.warning or "awake-not-given", self._lock.detail or "its program has ended"

    def keep_awake(self, *, is_wanted: bool) -> None:
        """Take the lock, or let it go; what was held before is let go either way."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None
        self._fault = ""
        if not is_wanted:
            return
        try:
            from autopilot.launchd import awake  # noqa: PLC0415 - a daemon that is off holds nothing awake

            self._lock = awake.hold(reason="autopilot is on", more=more_than_sleep(self._settings()))
        except (OSError, MemoryError) as error:  # a full disk, say
            self._fault = str(error) or "no memory is left"

    def is_awake(self) -> bool:
        """Tell whether it is held now."""
        return self._lock is not None and self._lock.is_held


def more_than_sleep(settings: Settings) -> More:
    """Say what to hold off besides sleep: a lid is looked after as the machine stands when a lock begins."""
    from autopilot.launchd import awake, power  # noqa: PLC0415 - as above

    lid = settings.awake.lid
    is_lid = lid == "always" or (lid == "on-mains" and power.is_on_mains() is not False)
    return awake.More(display=settings.awake.display, lid=is_lid)
