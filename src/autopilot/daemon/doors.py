"""The daemon's doors heal: control socket and lock file are put back where they were taken away.

A daemon that nobody can reach looks dead, and would be started twice. Must not end the daemon: what cannot be
mended now is tried again at every tick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autopilot.config.logs import logger
from autopilot.schemas.errors import AutopilotError
from autopilot.schemas.events import Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from autopilot.daemon.api.control import ControlServer
    from autopilot.daemon.lock import DaemonLock
    from autopilot.daemon.shop import Shop


class Doors:
    """Looks at both on every tick; knows what it has told already."""

    def __init__(self, lock: DaemonLock, control: ControlServer) -> None:
        """Take what to look after."""
        self._heals: dict[str, Callable[[], bool]] = {"lock": lock.heal, "socket": control.heal}
        self._told: dict[str, str] = {}

    def __call__(self, shop: Shop) -> None:  # noqa: ARG002 - the shape of every chore
        """Mend what is not in its place."""
        for door, heal in self._heals.items():
            self._mend(door, heal)

    def _mend(self, door: str, heal: Callable[[], bool]) -> None:
        try:
            is_mended = heal()
        except AutopilotError as error:
            if self._told.get(door) != error.what:
                logger("daemon").error(Event.DOOR_BROKEN, door=door, error=error.what, hint=error.hint)
            self._told[door] = error.what
            return
        self._told.pop(door, None)
        if is_mended:
            logger("daemon").warning(Event.DOOR_MENDED, door=door)
