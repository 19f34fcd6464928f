"""What a publisher is sent for, and the one credential that it needs there.

Must not read a credential: it only says which variable the child is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autopilot.config.secrets import variable_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from autopilot.schemas.delivery import ChannelSpec
    from autopilot.schemas.publication import ForgeSpec
    from autopilot.schemas.tracking import TrackerSpec

_SSH = "SSH_AUTH_SOCK"


@dataclass(frozen=True, slots=True)
class Errand:
    """One way out of this machine.

    `credential` is the name of what signs us in there, empty where nothing does; `has_git`: it may be reached
    by ssh, with the operator's own keys.
    """

    credential: str
    has_git: bool = False

    @classmethod
    def to_forge(cls, forge: ForgeSpec) -> Errand:
        """Send it to where branches and drafts go."""
        return cls(forge.credential, has_git=True)

    @classmethod
    def to_tracker(cls, tracker: TrackerSpec) -> Errand:
        """Send it to where issues are."""
        return cls(tracker.credential)

    @classmethod
    def to_channel(cls, channel: ChannelSpec) -> Errand:
        """Send it to where the operator is told."""
        return cls(channel.credential)

    def lent(self, base: Mapping[str, str]) -> dict[str, str]:
        """Give what it is lent of our own environment, beside what any publisher has."""
        wanted = {_SSH} if self.has_git else set()
        if self.credential:
            wanted.add(variable_for(self.credential))
        return {name: base[name] for name in sorted(wanted) if name in base}
