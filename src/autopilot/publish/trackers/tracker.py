"""What we ask of a tracker. Two implement it: `github` and `jira`.

Reading and commenting, and nothing else: no method here changes, moves or deletes an issue. A method raises
TransientError when nobody needs to act, ConfigError when the operator must, TicketError when the issue is
wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from autopilot.schemas.tracking import Issue


@dataclass(frozen=True, slots=True)
class Ours:
    """What a comment of ours is known by: a mark that is in no other's, and the line that it begins with."""

    mark: str
    opening: str


class Tracker(Protocol):
    """A place for issues. A reference is `12` or `PROJ-7`."""

    def read(self, reference: str) -> Issue:
        """Read one issue as it is now."""
        ...

    def find(self, reference: str, ours: Ours) -> bool:
        """Tell whether a comment of our own account holds the mark; asked before one is made a second time.

        Where a tracker does not say who we are, others' comments count too: never a second one. Where it says
        at least what no person wrote, that counts if it begins as ours does.
        """
        ...

    def comment(self, reference: str, text: str) -> None:
        """Add a comment. When the answer is lost (`Lost`), it may have been made: ask `find`."""
        ...

    def weaknesses(self) -> tuple[str, ...]:
        """Say in what the credential may do too much, or too little."""
        ...
