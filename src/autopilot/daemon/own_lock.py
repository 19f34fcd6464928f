"""The locks from on to off that the daemon holds by itself, as the lock of a run is held.

Where no service keeps it, that is the whole lock. Beside the awake service, whose command was written at
installation and holds off sleep, it is the lid, where `[awake] lid` asks for it. Must not be asked for again
and again: a system that has no locks has none a little later either.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from autopilot.config.settings import Settings
    from autopilot.launchd.awake import AwakeLock, More
    from autopilot.launchd.keeper import Keeper


class OwnLock:
    """Fulfils what `Vigil` asks of an init system. It ends with this process, however that ends."""

    def __init__(self, wanted: Callable[[], More | None]) -> None:
        """Take who tells what to hold off as things stand; None: nothing."""
        self._wanted = wanted
        self._asked: More | None = None
        self._lock: AwakeLock | None = None
        self._fault = ""

    @property
    def init(self) -> str:
        """Give the kind of the lock."""
        return self._lock.kind if self._lock is not None else "none"

    @property
    def lack(self) -> tuple[str, str]:
        """Say what is not held, or was refused of it: a code, and the system's own words. Empty: nothing."""
        if self._fault:
            return "awake-not-started", self._fault
        if self._lock is None:
            return ("awake-not-given", "it was not asked for") if self._asked is not None else ("", "")
        if self._lock.warning or self._lock.is_held:
            return self._lock.warning, self._lock.detail
        return "awake-not-given", "its program has ended"

    def keep_awake(self, *, is_wanted: bool) -> None:
        """Take the lock, or let it go; what was held before is let go either way."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None
        self._fault, self._asked = "", self._wanted() if is_wanted else None
        if self._asked is None:
            return
        try:
            from autopilot.launchd import awake  # noqa: PLC0415 - a daemon that is off holds nothing awake

            self._lock = awake.hold(reason="autopilot is on", more=self._asked)
        except (OSError, MemoryError) as error:  # a full disk, say
            self._fault = str(error) or "no memory is left"

    def is_awake(self) -> bool:
        """Tell whether it is held now."""
        return self._lock is not None and self._lock.is_held

    def is_lost(self) -> bool:
        """Tell whether it was given, and its program has ended since."""
        return self._lock is not None and self._lock.kind != "none" and not self._lock.is_held

    def is_outdated(self) -> bool:
        """Tell whether something else is to be held off by now."""
        return self._asked != self._wanted()


class ServiceAndLid:
    """The awake service, and beside it a lock of this process for the lid where one is wanted."""

    def __init__(self, keeper: Keeper, lid: OwnLock) -> None:
        """Take the keeper of the service, and the lock for the lid."""
        self._keeper, self._lid = keeper, lid

    @property
    def init(self) -> str:
        """Give the name of the keeper."""
        return self._keeper.init

    @property
    def lack(self) -> tuple[str, str]:
        """Say what is not held, as a code and in words. Empty: nothing."""
        if self._keeper.is_awake():
            return self._lid.lack
        return (
            "awake-not-given",
            "the awake service does not run: not installed, or the system refuses the lock",
        )

    def keep_awake(self, *, is_wanted: bool) -> None:
        """Begin or end both; the lid first, so that it is let go whatever the service says.

        Raises:
            AutopilotError: the service was refused, and may not be a little later.
        """
        self._lid.keep_awake(is_wanted=is_wanted)
        self._keeper.keep_awake(is_wanted=is_wanted)

    def is_awake(self) -> bool:
        """Tell whether the service runs, and the lid's lock was not lost."""
        return not self._lid.is_lost() and self._keeper.is_awake()

    def is_outdated(self) -> bool:
        """Tell whether the lid is to be held off by now, or no more."""
        return self._lid.is_outdated()


def more_than_sleep(settings: Settings) -> More:
    """Say what to hold off besides sleep: a lid is looked after as the machine stands now."""
    from autopilot.launchd import awake, power  # noqa: PLC0415 - as above

    lid = settings.awake.lid
    is_lid = lid == "always" or (lid == "on-mains" and power.is_on_mains() is not False)
    return awake.More(display=settings.awake.display, lid=is_lid)


def lid_alone(settings: Settings, *, platform: str = sys.platform) -> More | None:
    """Say what to hold off where sleep is held off already; macOS lets nobody hold off the lid."""
    from autopilot.launchd import awake  # noqa: PLC0415 - as above

    if platform == "darwin" or not more_than_sleep(settings).lid:
        return None
    return awake.More(lid=True, sleep=False)
