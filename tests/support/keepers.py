"""An init system's keeper of the awake service, which a test plays."""

from __future__ import annotations

from autopilot.launchd.launchctl import Launchctl
from autopilot.schemas.errors import RefusedError
from tests.support.clock import FakeClock


class Keeper(Launchctl):
    """Notes what is asked of it, and holds as it is told to."""

    def __init__(self, *, holds: bool) -> None:
        super().__init__(FakeClock())
        self.asked: list[bool | str] = []
        self.refuses = False
        self.holds = holds

    def keep_awake(self, *, is_wanted: bool) -> None:
        """Take it down; refuse where the test says so."""
        self.asked.append(is_wanted)
        if self.refuses:
            raise RefusedError("service-refused", "no", hint="")

    def is_awake(self) -> bool:
        """Say what the test says."""
        self.asked.append("asked")
        return self.holds
