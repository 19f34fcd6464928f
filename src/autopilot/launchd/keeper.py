"""The init system that keeps the daemon, as one value: systemd's user manager, or launchd's gui domain.

Must not write or remove a file: `files.py` does, between what is asked of the keeper here.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from autopilot.schemas.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from autopilot.config.clock import Clock
    from autopilot.launchd.service import Service


@dataclass(frozen=True, slots=True)
class Standing:
    """What the init system says of the daemon's service."""

    state: str
    """In its own words, `active` or `not running`; `absent` where it does not know the service."""
    is_enabled: bool = False
    """Whether it comes up by itself."""
    pid: int = 0
    restarts: int = 0
    result: str = ""
    """How the last end was, in its own words; empty after a good one."""


class Keeper(Protocol):
    """An init system."""

    @property
    def init(self) -> str:
        """Give its name."""
        ...

    @property
    def folder(self) -> Path:
        """Name the folder that it reads this user's services from."""
        ...

    @property
    def daemon_file(self) -> str:
        """Name the file of the daemon's service."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Name every file that an installation of ours may have."""
        ...

    def files(self, service: Service) -> Mapping[str, bytes]:
        """Write the files of a service, by name."""
        ...

    def is_ours(self, content: bytes) -> bool:
        """Tell whether a file was written by us."""
        ...

    def home_of(self, content: bytes) -> str:
        """Give the AUTOPILOT_HOME that the daemon's file names; empty for the default places."""
        ...

    def refusal(self) -> str:
        """Say why this system cannot be spoken to; empty when it can."""
        ...

    def commands(self) -> tuple[str, ...]:
        """Name the commands that an installation runs."""
        ...

    def take_up(self, *, is_changed: bool) -> None:
        """Read what was written, and have the daemon come up by itself from now on.

        Raises:
            RefusedError: it would not.
        """
        ...

    def start(self) -> None:
        """Have it start the daemon; returns before it is up.

        Raises:
            RefusedError: it would not.
        """
        ...

    def halt(self) -> None:
        """Start the daemon no more for now; it comes up again at the next log-in, or when it is told to."""
        ...

    def let_go(self) -> None:
        """Stop everything of ours and have nothing come up any more, before the files are removed.

        Raises:
            RefusedError: something of ours still runs.
        """
        ...

    def forget(self) -> None:
        """Read again, after the files were removed."""
        ...

    def standing(self) -> Standing:
        """Ask how the daemon's service is."""
        ...

    def knows(self, variable: str) -> bool:
        """Tell whether it gives this variable to what it starts, beside what the service's file sets."""
        ...

    def is_lingering(self) -> bool:
        """Tell whether the service goes on after the last log-out."""
        ...

    def linger(self, *, is_wanted: bool) -> str:
        """Have the service go on after the last log-out, or not; say why that was refused."""
        ...

    def keep_awake(self, *, is_wanted: bool) -> None:
        """Start or end what keeps the machine awake from on to off; nothing where it is not installed."""
        ...

    def is_awake(self) -> bool:
        """Tell whether what keeps the machine awake runs now."""
        ...


def find(clock: Clock, *, platform: str = sys.platform) -> Keeper:
    """Give this machine's."""
    if platform == "darwin":
        from autopilot.launchd.launchctl import Launchctl  # noqa: PLC0415 - one of the two is never needed

        return Launchctl(clock)
    from autopilot.launchd.systemctl import Systemctl  # noqa: PLC0415 - as above

    return Systemctl(clock)


def refuse(what: str, said: str, hint: str) -> RefusedError:
    """Make the error of a keeper that would not."""
    return RefusedError("service-refused", f"{what}: {said}", hint=hint)
