"""What we ask of a tracker. Two implement it: `github` and `jira`.

Reading and commenting, and nothing else: no method here changes, moves or deletes an issue. A method raises
TransientError when nobody needs to act, ConfigError when the operator must, TicketError when the issue is
wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from autopilot.schemas.tracking import Issue


class Tracker(Protocol):
    """A place for issues. A reference is `12` or `PROJ-7`."""

    def read(self, reference: str) -> Issue:
        """Read one issue as it is now."""
        ...

    def find(self, reference: str, mark: str) -> bool:
        """Tell whether a comment of our own account holds this text; asked before one is made a second time.

        Where a tracker does not say who we are, others' comments count too: never a second one.
        """
        ...

    def comment(self, reference: str, text: str) -> None:
        """Add a comment. When the answer is lost (`Lost`), it may have been made: ask `find`."""
        ...

    def weaknesses(self) -> tuple[str, ...]:
        """Say in what the credential may do too much, or too little."""
        ...
